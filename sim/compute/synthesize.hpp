#pragma once
// A layer trace that nobody recorded: from a model and a GPU, or from times that are known as a whole.
#include <optional>

#include "sim/compute/roofline.hpp"

namespace ddpsim {

struct SynthesisOptions {
  Batch batch;
  DType compute = DType::float32;     // precision of the layers
  DType gradients = DType::float32;   // of gradients and parameters; autocast leaves them float32
  std::optional<GpuDescription> gpu;  // without: a layer's time is in proportion to its FLOPs
  double efficiency = kUsualEfficiency;
  std::optional<double> memory_efficiency;              // without: that of the GPU's copies
  std::optional<Seconds> forward, backward, optimizer;  // known; required without a GPU, but the optimizer's
};

// Layers run back to back, backward in the reverse of forward; a layer's gradients are ready when its
// backward pass is over. Throws InputError where the GPU has no peak for the precision, or where a time is no
// time of a trace.
LayerTrace synthesize(const Model& model, const SynthesisOptions& options);

}  // namespace ddpsim
