#include "sim/compute/model_layers.hpp"

namespace ddpsim {

Flops LayerPass::flops(const Batch& batch) const {
  double per_token = flops_per_token + flops_per_token_and_position * static_cast<double>(batch.sequence);
  return Flops(batch.tokens() * per_token);
}

Bytes LayerPass::bytes(const Batch& batch, DType dtype) const {
  double per_token = values_per_token + values_per_token_and_position * static_cast<double>(batch.sequence);
  return Bytes((batch.tokens() * per_token + weights) * bytes_per_element(dtype));
}

LayerPass twice(const LayerPass& pass) {
  return {2 * pass.flops_per_token,  2 * pass.flops_per_token_and_position,
          2 * pass.values_per_token, 2 * pass.values_per_token_and_position,
          2 * pass.weights,          2 * pass.kernels};
}

double Model::elements() const {
  double total = 0;
  for (const auto& layer : layers)
    for (const auto& tensor : layer.tensors) total += static_cast<double>(tensor.elements);
  return total;
}

Flops Model::forward_flops(const Batch& batch) const {
  Flops total;
  for (const auto& layer : layers) total += layer.forward.flops(batch);
  return total;
}

}  // namespace ddpsim
