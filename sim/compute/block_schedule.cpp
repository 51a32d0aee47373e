#include "sim/compute/block_schedule.hpp"

#include <algorithm>
#include <array>

namespace ddpsim {
namespace {

// A norm's place in its block is told by what came before it: one after the feed-forward layer ends its
// stage.
BlockStage stage_of(ModuleRole role, BlockStage of_norms) {
  switch (role) {
    case ModuleRole::query_key_value:
    case ModuleRole::attention_down:
    case ModuleRole::attention_vector:
      return BlockStage::query_key_value;
    case ModuleRole::attention_output:
      return BlockStage::attention_output;
    case ModuleRole::feed_forward_in:
    case ModuleRole::router:
    case ModuleRole::experts_in:
      return BlockStage::feed_forward_in;
    case ModuleRole::feed_forward_out:
    case ModuleRole::experts_out:
      return BlockStage::feed_forward_out;
    default:
      return of_norms;
  }
}

}  // namespace

std::vector<BlockStage> stages_of(const TransformerPart& block) {
  std::vector<BlockStage> stages;
  auto of_norms = BlockStage::first_norm;
  for (const auto& module : block.modules) {
    stages.push_back(stage_of(module.role, of_norms));
    if (module.role == ModuleRole::feed_forward_out || module.role == ModuleRole::experts_out)
      of_norms = BlockStage::feed_forward_out;
    else
      of_norms = std::max(of_norms, BlockStage::second_norm);
  }
  return stages;
}

BlockSchedule block_schedule(const TransformerPart& block, const BlockTimes& times) {
  auto n = block.modules.size();
  auto stages = stages_of(block);
  std::array<std::int64_t, kBlockStages> elements{};
  for (std::size_t i = 0; i < n; ++i)
    elements[static_cast<std::size_t>(stages[i])] += block.modules[i].elements();
  // A module's share of its stage is its share of the elements.
  auto share = [&](std::size_t module) {
    return static_cast<double>(block.modules[module].elements()) /
           static_cast<double>(elements[static_cast<std::size_t>(stages[module])]);
  };
  BlockSchedule result{std::vector<Seconds>(n), std::vector<Seconds>(n)};
  Seconds now;
  for (std::size_t stage = 0; stage < kBlockStages; ++stage) {
    auto end = now + times.forward.stages[stage];
    for (std::size_t i = 0; i < n; ++i)
      if (static_cast<std::size_t>(stages[i]) == stage) {
        now += share(i) * times.forward.stages[stage];
        result.forward_end[i] = now;
      }
    now = end;
  }
  now = times.recompute;
  for (std::size_t stage = kBlockStages; stage-- > 0;) {
    auto end = now + times.backward.stages[stage];
    for (std::size_t i = n; i-- > 0;)
      if (static_cast<std::size_t>(stages[i]) == stage) {
        now += share(i) * times.backward.stages[stage];
        result.backward_end[i] = now;
      }
    now = end;
  }
  return result;
}

std::int64_t elements_of_shard(const TransformerModule& module, const ParameterTensor& tensor,
                               std::int64_t vocabulary_rows, int gpus) {
  bool is_bias = tensor.elements == module.outputs;
  switch (module.role) {
    case ModuleRole::token_embedding:
    case ModuleRole::head:
      return module.inputs * vocabulary_rows;
    case ModuleRole::query_key_value:
    case ModuleRole::feed_forward_in:
    case ModuleRole::experts_in:
    case ModuleRole::experts_out:
      return tensor.elements / gpus;
    case ModuleRole::attention_output:
    case ModuleRole::feed_forward_out:
      return is_bias ? tensor.elements : tensor.elements / gpus;
    default:
      return tensor.elements;
  }
}

}  // namespace ddpsim
