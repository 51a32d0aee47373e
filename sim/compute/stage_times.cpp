#include "sim/compute/stage_times.hpp"

#include <algorithm>

#include "sim/compute/block_schedule.hpp"

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

namespace {

// A block by itself: its tensors, in forward order.
TransformerPart block_of(const Transformer& model, BlockKind kind) {
  auto one = model;
  one.layers = 1;
  if (kind == BlockKind::dense) one.experts = {};
  one.experts.dense_layers = 0;
  return transformer_parts(one, 1)[1];
}

// From the start of its backward pass; what of it a GPU has.
std::vector<StagePart> block_parts(const Transformer& model, const StepShape& shape, BlockKind kind,
                                   const BlockTimes& times) {
  auto block = block_of(model, kind);
  auto schedule = block_schedule(block, times);
  std::vector<StagePart> parts;
  double experts = 0;
  for (auto i = block.modules.size(); i-- > 0;) {
    const auto& module = block.modules[i];
    bool is_expert = module.role == ModuleRole::experts_in || module.role == ModuleRole::experts_out;
    for (const auto& tensor : module.tensors) {
      auto elements = static_cast<double>(elements_of_shard(module, tensor, 0, shape.tensor));
      if (is_expert) experts += elements;
      parts.push_back(
          {schedule.backward_end[i].value(), is_expert ? 0 : elements, is_expert ? elements : 0, false});
    }
  }
  // Experts are cut over those that share them.
  auto held = held_parameters(model, shape, kind).experts;
  for (auto& part : parts)
    if (experts > 0) part.experts *= held / experts;
  parts.back().ends_unit = true;
  return parts;
}

}  // namespace

StageParts::StageParts(const Transformer& model, const TransformerTimes& times, const StepShape& shape)
    : model_(model), times_(times), shape_(shape) {
  auto experts = model.with_experts(0, model.layers);
  for (auto kind : {BlockKind::dense, BlockKind::experts}) {
    if ((kind == BlockKind::experts ? experts : model.layers - experts) == 0) continue;
    auto again = times.block(kind), kept = again;
    kept.recompute = Seconds();
    blocks_[kind] = {Block{block_parts(model, shape, kind, again), again.recompute + again.backward.time},
                     Block{block_parts(model, shape, kind, kept), kept.backward.time}};
  }
}

// Without the ends' collectives, which are short.
std::vector<StagePart> StageParts::of(const StageLayers& stage) const {
  auto ends = times_.ends(stage.ends);
  auto h = static_cast<double>(model_.hidden), t = static_cast<double>(shape_.tensor);
  double table = static_cast<double>(model_.vocab) * h / t;
  std::vector<StagePart> parts;
  Seconds now;
  auto add = [&](Seconds time, double parameters, bool ends_unit) {
    now += time;
    parts.push_back({now.value(), parameters, 0, ends_unit, true});
  };
  auto add_blocks = [&](std::int64_t first, std::int64_t end, BlockKind kind) {
    for (auto i = end; i-- > first;) {
      const auto& block = blocks_.at(kind)[i >= stage.recomputed];
      for (auto part : block.parts) {
        part.end += now.value();
        parts.push_back(part);
      }
      now += block.time;
    }
  };
  // Each rank has the last norm whole.
  if (stage.ends.head) {
    if (!stage.shares_table) add(ends.head_backward, table, false);
    add(stage.shares_table ? ends.head_backward : Seconds(), static_cast<double>(model_.norm_parameters()),
        true);
  }
  auto dense = stage.layers - stage.with_experts;
  add_blocks(dense, stage.layers, BlockKind::experts);
  add_blocks(0, dense, BlockKind::dense);
  if (stage.ends.embedding) {
    add(ends.embedding_backward, static_cast<double>(model_.position_rows(shape_.sequence)) * h / t, false);
    add(Seconds(), table, true);
  }
  for (auto& part : parts) part.end = now > Seconds() ? part.end / now.value() : 1;
  return parts;
}

}  // namespace ddpsim
