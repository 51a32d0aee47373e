#include "sim/compute/stage_times.hpp"

#include <algorithm>

namespace ddpsim {
PipelineStageTimes stage_times(const TransformerTimes& times, const StageLayers& stage) {
  auto ends = times.ends(stage.ends);
  auto forward = times.tensor_ends_forward(stage.ends), backward = times.tensor_ends_backward(stage.ends);
  PipelineStageTimes result;
  result.forward = ends.embedding_forward + ends.head_forward + forward.exposed;
  result.weight_gradient = ends.head_weight_gradient;
  auto backward_time = ends.embedding_backward + ends.head_backward + backward.exposed;
  auto add = [&](std::int64_t count, std::int64_t recomputed, BlockKind kind) {
    if (count == 0) return;
    auto layers = static_cast<int>(count), again = static_cast<int>(recomputed);
    auto block = times.block(kind);
    result.forward += layers * block.forward.time;
    result.recompute += again * block.recompute;
    result.weight_gradient += layers * block.weight_gradient;
    backward_time += layers * block.backward.time;
    for (const auto& pass : {block.tensor_forward, block.tensor_backward}) result.tensor += layers * pass;
    for (const auto& pass : {block.context_forward, block.context_backward}) result.context += layers * pass;
    for (const auto& pass : {block.expert_forward, block.expert_backward}) result.expert += layers * pass;
    result.tensor += again * block.tensor_recompute;
    result.context += again * block.context_recompute;
    result.expert += again * block.expert_recompute;
  };
  auto dense = stage.layers - stage.with_experts, again = std::min(stage.recomputed, stage.layers);
  add(dense, std::min(again, dense), BlockKind::dense);
  add(stage.with_experts, std::max<std::int64_t>(0, again - dense), BlockKind::experts);
  result.input_gradient = backward_time - result.weight_gradient;
  result.tensor += forward;
  result.tensor += backward;
  return result;
}

}  // namespace ddpsim
