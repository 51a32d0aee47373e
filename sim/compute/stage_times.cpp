#include "sim/compute/stage_times.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace ddpsim {

void set_training(const ModelTraining& training, std::int64_t first, StageLayers& stage) {
  stage.trains_embedding = training.trains_embedding;
  stage.trains_head = training.trains_head;
  if (training.blocks.empty()) return;
  auto begin = training.blocks.begin() + first;
  stage.training.assign(begin, begin + stage.layers());
}

Ends reached_ends(const StageLayers& stage) {
  return {stage.ends.embedding && stage.trains_embedding, stage.ends.head};
}

EndTimes trained_ends(const TransformerTimes& times, const StageLayers& stage) {
  auto ends = times.ends(stage.ends);
  if (!stage.trains_embedding) ends.embedding_backward = {};
  if (!stage.trains_head) ends.head_backward -= std::exchange(ends.head_weight_gradient, {});
  return ends;
}

BlockTimes block_times(const TransformerTimes& times, const StageLayers& stage, std::int64_t block) {
  bool is_kept = block >= stage.recomputed;
  auto place = static_cast<std::size_t>(block);
  auto training = stage.training.empty() ? BlockTraining() : stage.training[place];
  auto one = times.block(stage.kinds[place], training.trained);
  if (is_kept || !training.is_reached) {
    one.recompute = {};
    one.tensor_recompute = {};
    one.context_recompute = {};
    one.expert_recompute = {};
  }
  if (!training.is_reached) {
    one.backward = {};
    one.weight_gradient = {};
    one.tensor_backward = {};
    one.context_backward = {};
    one.expert_backward = {};
  }
  return one;
}

PipelineStageTimes stage_times(const TransformerTimes& times, const StageLayers& stage) {
  auto ends = trained_ends(times, stage);
  auto forward = times.tensor_ends_forward(stage.ends),
       backward = times.tensor_ends_backward(reached_ends(stage));
  PipelineStageTimes result;
  result.forward = ends.embedding_forward + ends.head_forward + forward.exposed;
  result.weight_gradient = ends.head_weight_gradient;
  auto backward_time = ends.embedding_backward + ends.head_backward + backward.exposed;
  // Blocks that are alike at once.
  std::vector<std::pair<std::int64_t, BlockTimes>> known;
  for (std::int64_t first = 0; first < stage.layers();) {
    auto end = first + 1;
    while (end < stage.layers() && stage.is_alike(first, end)) ++end;
    auto layers = static_cast<int>(end - first);
    auto alike =
        std::ranges::find_if(known, [&](const auto& one) { return stage.is_alike(one.first, first); });
    if (alike == known.end()) alike = known.insert(alike, {first, block_times(times, stage, first)});
    const auto& block = alike->second;
    result.forward += layers * block.forward.time;
    result.recompute += layers * block.recompute;
    result.weight_gradient += layers * block.weight_gradient;
    backward_time += layers * block.backward.time;
    for (const auto& pass : {block.tensor_forward, block.tensor_backward, block.tensor_recompute})
      result.tensor += layers * pass;
    for (const auto& pass : {block.context_forward, block.context_backward, block.context_recompute})
      result.context += layers * pass;
    for (const auto& pass : {block.expert_forward, block.expert_backward, block.expert_recompute})
      result.expert += layers * pass;
    first = end;
  }
  result.input_gradient = backward_time - result.weight_gradient;
  result.tensor += forward;
  result.tensor += backward;
  return result;
}

bool StageLayers::is_alike(std::int64_t a, std::int64_t b) const {
  auto place = [](std::int64_t block) { return static_cast<std::size_t>(block); };
  return kinds[place(a)] == kinds[place(b)] && (a >= recomputed) == (b >= recomputed) &&
         (training.empty() || training[place(a)] == training[place(b)]);
}

}  // namespace ddpsim
