#include "sim/compute/training.hpp"

#include <algorithm>

#include "sim/compute/block_schedule.hpp"

namespace ddpsim {
namespace {

bool trains(const TransformerModule& module) {
  return std::ranges::any_of(module.tensors, [](const auto& tensor) { return !tensor.is_frozen; });
}
bool trains_any(const TransformerPart& part) {
  return std::ranges::any_of(part.modules, trains);
}

// Of the matrices, by stage; what a stage has besides (biases, norms) takes no product.
TrainedShares shares_of(const TransformerPart& block) {
  std::array<double, kBlockStages> all{}, trained{};
  auto stages = stages_of(block);
  for (std::size_t i = 0; i < block.modules.size(); ++i)
    for (const auto& tensor : block.modules[i].tensors) {
      if (block.modules[i].role == ModuleRole::norm || tensor.elements == block.modules[i].outputs) continue;
      auto stage = static_cast<std::size_t>(stages[i]);
      all[stage] += static_cast<double>(tensor.elements);
      if (!tensor.is_frozen) trained[stage] += static_cast<double>(tensor.elements);
    }
  auto shares = kAllTrained;
  for (std::size_t stage = 0; stage < kBlockStages; ++stage)
    if (all[stage] > 0) shares[stage] = trained[stage] / all[stage];
  return shares;
}

}  // namespace

ModelTraining training_of(const std::vector<TransformerPart>& parts) {
  ModelTraining all;
  auto is_frozen = [](const ParameterTensor& tensor) { return tensor.is_frozen; };
  if (std::ranges::none_of(parts, [&](const TransformerPart& part) {
        return std::ranges::any_of(
            part.modules, [&](const auto& module) { return std::ranges::any_of(module.tensors, is_frozen); });
      }))
    return all;
  all.trains_embedding = trains_any(parts.front());
  const auto& last = parts.back().modules.back();  // a tied head has no tensors: it is the embedding's
  all.trains_head = last.tensors.empty() ? all.trains_embedding : trains(last);
  bool is_reached = all.trains_embedding;
  double elements = 0, trained = 0, reached = 0;
  for (std::size_t i = 1; i + 1 < parts.size(); ++i) {
    is_reached |= trains_any(parts[i]);
    all.blocks.push_back({shares_of(parts[i]), is_reached});
    reached += is_reached;
    for (const auto& module : parts[i].modules)
      for (const auto& tensor : module.tensors) {
        elements += static_cast<double>(tensor.elements);
        if (!tensor.is_frozen) trained += static_cast<double>(tensor.elements);
      }
  }
  all.trained = trained / elements;
  all.reached = reached / static_cast<double>(all.blocks.size());
  return all;
}

}  // namespace ddpsim
