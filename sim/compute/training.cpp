#include "sim/compute/training.hpp"

#include <algorithm>

#include "sim/base/check.hpp"
#include "sim/compute/block_schedule.hpp"

namespace ddpsim {
namespace {

bool trains(const TransformerModule& module) {
  return std::ranges::any_of(module.tensors, [](const auto& tensor) { return !tensor.is_frozen; });
}
bool trains_any(const TransformerPart& part) {
  return std::ranges::any_of(part.modules, trains);
}
bool freezes_any(const TransformerPart& part) {
  return std::ranges::any_of(part.modules, [](const auto& module) {
    return std::ranges::any_of(module.tensors, &ParameterTensor::is_frozen);
  });
}
const TransformerModule* find(const TransformerPart& part, ModuleRole role) {
  auto found = std::ranges::find(part.modules, role, &TransformerModule::role);
  DDPSIM_CHECK(found != part.modules.end(), "a model has an embedding and a head");
  return &*found;
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

ModelTraining training_of(const Transformer& model, const std::vector<TransformerPart>& parts) {
  ModelTraining all;
  if (std::ranges::none_of(parts, freezes_any)) return all;
  const auto* table = find(parts.front(), ModuleRole::token_embedding);
  const auto* head = find(parts.back(), ModuleRole::head);
  all.trains_embedding = trains(*table);
  all.trains_head = head->tensors.empty() ? all.trains_embedding : trains(*head);  // tied
  bool is_reached = trains_any(parts.front());
  double active = static_cast<double>(model.experts.top_k) /
                  static_cast<double>(std::max<std::int64_t>(1, model.experts.count));
  double elements = 0, trained = 0, reached = 0;
  for (std::size_t i = 1; i + 1 < parts.size(); ++i) {
    is_reached |= trains_any(parts[i]);
    reached += is_reached;
    auto& block = all.blocks.emplace_back(BlockTraining{shares_of(parts[i]), is_reached});
    for (const auto& module : parts[i].modules)
      for (const auto& tensor : module.tensors) {
        bool is_expert = module.role == ModuleRole::experts_in || module.role == ModuleRole::experts_out;
        auto met = (is_expert ? active : 1) * static_cast<double>(tensor.elements);
        elements += met;
        if (!tensor.is_frozen) trained += met;
        block.frozen.push_back(tensor.is_frozen);
      }
  }
  all.trained = trained / elements;
  all.reached = reached / static_cast<double>(all.blocks.size());
  return all;
}

}  // namespace ddpsim
