#pragma once
// How long a GPU takes for something, from how much it computes and how much it moves (Williams, Waterman and
// Patterson, "Roofline", CACM 2009).
#include "sim/compute/model_layers.hpp"
#include "sim/gpu/gpu_description.hpp"

namespace ddpsim {

// The share of the peak that matrix products reach. Whole training steps of GPTs of 1.3 to 2.7e9 parameters
// reach 40 to 46 % of an H100's peak in bfloat16 at sequences of 512 to 4096 (github.com/mosaicml/llm-foundry
// at 061f2c7ce64e655100286584a7629e2a09f827ba, scripts/train/benchmarking/README.md); what is no matrix
// product, and counted apart here, is in those, so the products themselves reach more.
inline constexpr double kUsualEfficiency = 0.5;

struct Efficiency {
  double compute = kUsualEfficiency;  // of the peak
  double memory = 1;                  // of the memory bandwidth
};

struct Roofline {
  FlopsPerSecond compute;  // reached
  BytesPerSecond memory;   // reached
  Seconds launch;          // of a kernel
  DType dtype = DType::float32;

  [[nodiscard]] Seconds time(const LayerPass& pass, const Batch& batch) const;
};

// Throws InputError where the GPU has no peak for this type.
Roofline make_roofline(const GpuDescription& gpu, DType dtype, const Efficiency& efficiency);

// AdamW reads a parameter, its gradient and two moments, and writes all but the gradient: 7 values of the
// parameters' type, 28 bytes in float32.
inline constexpr int kAdamWValues = 7;
Bytes optimizer_bytes(const Model& model, DType parameters);

}  // namespace ddpsim
