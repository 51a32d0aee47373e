#include "sim/compute/stage_times.hpp"

namespace ddpsim {
namespace {

// Both gradients and recomputation of each kind of part.
struct BackwardTimes {
  Seconds head, block, embedding;
};

BackwardTimes backward_of(const TransformerTimes& times, const Ends& ends) {
  auto block = times.block();
  auto e = times.ends(ends);
  return {e.head_backward, block.recompute + block.backward.time, e.embedding_backward};
}

}  // namespace

PipelineStageTimes stage_times(const TransformerTimes& times, const StageLayers& stage) {
  auto layers = static_cast<int>(stage.layers);
  auto block = times.block();
  auto ends = times.ends(stage.ends);
  auto forward = times.tensor_ends_forward(stage.ends), backward = times.tensor_ends_backward(stage.ends);
  PipelineStageTimes result;
  result.forward = layers * block.forward.time + ends.embedding_forward + ends.head_forward + forward.exposed;
  result.recompute = layers * block.recompute;
  result.weight_gradient = layers * block.weight_gradient + ends.head_weight_gradient;
  result.input_gradient = layers * block.backward.time + ends.embedding_backward + ends.head_backward +
                          backward.exposed - result.weight_gradient;
  for (const auto& pass : {block.tensor_forward, block.tensor_backward, block.tensor_recompute})
    result.tensor += layers * pass;
  for (const auto& pass : {block.context_forward, block.context_backward, block.context_recompute})
    result.context += layers * pass;
  result.tensor += forward;
  result.tensor += backward;
  return result;
}

// Without the ends' collectives, which are short.
std::vector<StagePart> stage_parts(const Transformer& model, const TransformerTimes& times,
                                   const StageLayers& stage, const StepShape& shape) {
  auto [head, block, embedding] = backward_of(times, stage.ends);
  auto h = static_cast<double>(model.hidden), t = static_cast<double>(shape.tensor);
  double table = static_cast<double>(model.vocab) * h / t;
  std::vector<StagePart> parts;
  Seconds now;
  auto add = [&](Seconds time, double parameters) {
    now += time;
    parts.push_back({now.value(), parameters});
  };
  bool is_whole = stage.ends.embedding && stage.ends.head;
  if (stage.ends.head) add(head, model.tied && is_whole ? 0 : table);
  for (std::int64_t i = 0; i < stage.layers; ++i)
    add(block, static_cast<double>(model.block_parameters()) / t);
  if (stage.ends.embedding)
    add(embedding, table + static_cast<double>(model.position_rows(shape.sequence)) * h / t);
  for (auto& part : parts) part.end = now > Seconds() ? part.end / now.value() : 1;
  return parts;
}

}  // namespace ddpsim
