#pragma once
// What a GPU does in a training step, layer by layer: how much it computes and moves, and which gradients
// come of it.
#include <cstdint>
#include <string>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/model/transformer_modules.hpp"
#include "sim/trace/layer_trace.hpp"

namespace ddpsim {

struct Batch {
  std::int64_t samples = 1;
  std::int64_t sequence = 1;  // tokens a sample
  [[nodiscard]] double tokens() const { return static_cast<double>(samples) * static_cast<double>(sequence); }
};

// A layer's forward or backward pass. A value is one number of whatever width it is computed in; what is said
// of a token and position is for attention, where a token meets every position of its sample.
struct LayerPass {
  double flops_per_token = 0, flops_per_token_and_position = 0;
  double values_per_token = 0, values_per_token_and_position = 0;  // read and written
  double weights = 0;                                              // values read and written once a pass
  int kernels = 1;

  [[nodiscard]] Flops flops(const Batch& batch) const;
  [[nodiscard]] Bytes bytes(const Batch& batch, DType dtype) const;
};

// Twice as much of everything: of y = xW the backward pass makes the gradients of x and of W, each from as
// many operations as the forward pass, and each reads two of the three matrices and writes the third.
LayerPass twice(const LayerPass& pass);

// A single layer may be a single operation: a GELU is one without tensors.
struct ModelLayer {
  std::string name;
  LayerPass forward, backward;
  std::vector<ParameterTensor> tensors;  // in arrival order; their gradients are ready when backward is over
};

struct Model {
  std::string name;
  std::vector<ModelLayer> layers;  // in forward order; backward runs in reverse
  std::int64_t sequence = 0;       // tokens that every sample has; 0: any number

  [[nodiscard]] double elements() const;
  [[nodiscard]] Flops forward_flops(const Batch& batch) const;
};

}  // namespace ddpsim
