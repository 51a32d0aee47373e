#include "sim/compute/optimizer.hpp"

#include <algorithm>

namespace ddpsim {
namespace {

double bytes_of(MomentType type) {
  switch (type) {
    case MomentType::float32:
      return 4;
    case MomentType::bfloat16:
      return 2;
    case MomentType::int8:
      return 1 + 4.0 / 256;
  }
  return 4;
}

double newton_schulz(std::int64_t rows, std::int64_t columns) {
  constexpr int kSteps = 5;
  auto m = static_cast<double>(std::min(rows, columns)), n = static_cast<double>(std::max(rows, columns));
  return kSteps * (4 * m * m * n + 2 * m * m * m);
}

}  // namespace

double Optimizer::moment_bytes() const {
  double one = bytes_of(moments);
  switch (kind) {
    case OptimizerKind::adamw:
      return 2 * one;
    case OptimizerKind::sgd:
    case OptimizerKind::adafactor:
      return 0;
    case OptimizerKind::momentum:
      return one;
    case OptimizerKind::muon:
      return (2 - matrices) * one;
  }
  return 0;
}

double share_of_matrices(const Transformer& model, std::int64_t sequence) {
  double blocks = 0;
  for (std::int64_t layer = 0; layer < model.layers; ++layer)
    blocks += static_cast<double>(model.block_parameters(model.kind_of(layer)));
  return blocks / static_cast<double>(model.parameters(sequence));
}

double muon_operations(const Transformer& model) {
  auto hidden = model.hidden;
  double all = 0;
  for (std::int64_t layer = 0; layer < model.layers; ++layer) {
    auto kind = model.kind_of(layer);
    for (const auto& matrix : model.attention_matrices(kind.attention))
      all += newton_schulz(matrix.inputs, matrix.outputs);
    auto feed_forward = static_cast<double>(model.feed_forward_matrices());
    if (!kind.has_experts)
      all += feed_forward * newton_schulz(hidden, model.ffn);
    else
      all += feed_forward * static_cast<double>(model.experts.count + model.experts.shared) *
             newton_schulz(hidden, model.experts.ffn);
  }
  return all;
}

}  // namespace ddpsim
