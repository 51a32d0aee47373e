#include "sim/compute/transformer_trace.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include <fmt/core.h>

#include "sim/base/limits.hpp"
#include "sim/base/source.hpp"
#include "sim/compute/block_schedule.hpp"

namespace ddpsim {
namespace {

// A pass over all blocks: those without experts come first.
class BlockPasses {
 public:
  BlockPasses(const std::vector<TransformerPart>& parts, const Transformer& model,
              const TransformerTimes& times, std::int64_t recomputed)
      : model_(model), dense_(model.layers - model.with_experts(0, model.layers)), recomputed_(recomputed) {
    for (auto kind : {BlockKind::dense, BlockKind::experts}) {
      bool is_dense = kind == BlockKind::dense;
      if ((is_dense ? dense_ : model.layers - dense_) == 0) continue;
      const auto& part = parts[1 + static_cast<std::size_t>(is_dense ? 0 : dense_)];
      for (bool is_kept : {false, true}) {
        auto& known = (is_dense ? dense_block_ : expert_block_)[is_kept];
        known.times = times.block(kind);
        if (is_kept) known.times.recompute = Seconds();
        known.schedule = block_schedule(part, known.times);
      }
    }
  }

  struct Known {
    BlockTimes times;
    BlockSchedule schedule;
  };
  [[nodiscard]] const Known& of(std::int64_t block) const {
    return (model_.kind_of(block) == BlockKind::dense ? dense_block_ : expert_block_)[block >= recomputed_];
  }
  // Of those before that one.
  [[nodiscard]] Seconds forward_until(std::int64_t block) const {
    auto dense = std::min(block, dense_);
    auto time = static_cast<double>(dense) * dense_block_[0].times.forward.time;
    if (block == dense) return time;
    return time + static_cast<double>(block - dense) * expert_block_[0].times.forward.time;
  }

 private:
  const Transformer& model_;
  std::int64_t dense_;
  std::int64_t recomputed_;
  std::array<Known, 2> dense_block_, expert_block_;  // those that are computed again, and those that are not
};

// With what they communicate in a tensor-parallel group.
EndTimes ends_of(const TransformerTimes& times) {
  constexpr Ends kEmbedding{true, false}, kHead{false, true};
  auto ends = times.ends();
  ends.embedding_forward += times.tensor_ends_forward(kEmbedding).exposed;
  ends.head_forward += times.tensor_ends_forward(kHead).exposed;
  ends.embedding_backward += times.tensor_ends_backward(kEmbedding).exposed;
  ends.head_backward += times.tensor_ends_backward(kHead).exposed;
  return ends;
}

class TraceBuilder {
 public:
  TraceBuilder(const std::vector<TransformerPart>& parts, const Transformer& model,
               const TransformerTimes& times, const TransformerStep& step)
      : parts_(parts),
        blocks_(parts, model, times, step.shape.recomputed),
        ends_(ends_of(times)),
        n_blocks_(model.layers),
        held_share_(held_share(parts, model, step.shape)),
        vocabulary_rows_(times.vocabulary_rows()),
        step_(step) {}

  LayerTrace build() {
    std::size_t tensors = 0;
    for (const auto& part : parts_)
      for (const auto& module : part.modules) tensors += module.tensors.size();
    trace_.gradients.reserve(tensors);
    places_.reserve(tensors);
    add_head();
    for (auto part = parts_.end() - 2; part != parts_.begin(); --part) {
      const auto& known = blocks_.of(part->block);
      for (auto i = part->modules.size(); i-- > 0;)
        add(part->modules[i], forward_start(part->block) + known.schedule.forward_end[i],
            now_ + known.schedule.backward_end[i]);
      now_ += known.times.recompute + known.times.backward.time;
    }
    now_ += ends_.embedding_backward;
    const auto& embeddings = parts_.front().modules;
    for (auto i = embeddings.size(); i-- > 0;) add(embeddings[i], ends_.embedding_forward, now_);
    trace_.forward = forward_start(n_blocks_) + ends_.head_forward;
    trace_.registration_order.resize(trace_.gradients.size());
    for (std::size_t i = 0; i < places_.size(); ++i) trace_.registration_order[places_[i]] = i;
    return std::move(trace_);
  }

 private:
  static bool is_of_experts(const TransformerModule& module) {
    return module.role == ModuleRole::experts_in || module.role == ModuleRole::experts_out;
  }
  // Of experts, which are cut over those that share them.
  static double held_share(const std::vector<TransformerPart>& parts, const Transformer& model,
                           const StepShape& shape) {
    if (shape.expert.ranks == 1) return 1;
    double all = 0;
    for (const auto& module : parts[parts.size() - 2].modules)
      for (const auto& tensor : module.tensors)
        if (is_of_experts(module))
          all += static_cast<double>(elements_of_shard(module, tensor, 0, shape.tensor));
    return held_parameters(model, shape, BlockKind::experts).experts / all;
  }

  [[nodiscard]] Seconds forward_start(std::int64_t block) const {
    return ends_.embedding_forward + blocks_.forward_until(block);
  }

  void add_head() {
    now_ = ends_.head_backward;
    auto end = forward_start(n_blocks_) + ends_.head_forward;
    const auto& modules = parts_.back().modules;
    for (auto module = modules.rbegin(); module != modules.rend(); ++module) add(*module, end, now_);
  }

  void add(const TransformerModule& module, Seconds forward_end, Seconds ready) {
    for (const auto& tensor : module.tensors) {
      places_.push_back(tensor.parameter);
      auto elements = step_.shape.tensor == 1
                          ? tensor.elements
                          : elements_of_shard(module, tensor, vocabulary_rows_, step_.shape.tensor);
      if (is_of_experts(module)) elements = std::llround(held_share_ * static_cast<double>(elements));
      trace_.gradients.push_back({tensor.name, elements, step_.gradients, ready, {}, forward_end});
    }
  }

  const std::vector<TransformerPart>& parts_;
  BlockPasses blocks_;
  EndTimes ends_;
  std::int64_t n_blocks_;
  double held_share_;
  std::int64_t vocabulary_rows_;
  const TransformerStep& step_;
  Seconds now_;  // in the backward pass
  LayerTrace trace_;
  std::vector<std::size_t> places_;  // of registration, by gradient
};

void check_sequence(const Transformer& model, std::int64_t sequence) {
  auto rows = model.position_rows(sequence);
  if (rows > 0 && sequence > rows)
    throw InputError(
        fmt::format("{} has {} learned positions, and a sequence is {} tokens", model.name, rows, sequence),
        fmt::format("use a sequence of {} at most", rows))
        .about("sequence");
}

}  // namespace

LayerTrace transformer_trace(const Transformer& model, const GpuDescription& gpu, const Software& software,
                             const TransformerStep& step) {
  KnownParts known;
  return transformer_trace(model, gpu, software, step, known);
}

LayerTrace transformer_trace(const Transformer& model, const GpuDescription& gpu, const Software& software,
                             const TransformerStep& step, KnownParts& known, const TensorCollectives& tensor,
                             const ContextCollectives& context, const ExpertCollectives& expert) {
  check_sequence(model, step.shape.sequence);
  TransformerTimes times(model, gpu, software, step.precision, step.shape, tensor, context, expert);
  auto parts = known.of(model, step.shape.sequence);
  auto trace = TraceBuilder(*parts, model, times, step).build();
  double parameters = 0;
  for (const auto& gradient : trace.gradients) parameters += static_cast<double>(gradient.elements);
  trace.optimizer = times.optimizer(parameters);
  auto& metadata = trace.metadata;
  metadata.model = model.name;
  metadata.device = gpu.name;
  metadata.batch_size = step.shape.micro_batch;
  metadata.sequence_length = step.shape.sequence;
  metadata.synthetic = fmt::format("compute law, framework {}", software.name);
  for (const auto& time : {trace.forward, trace.optimizer, std::optional(trace.backward())})
    if (!(*time < kLongestDuration))
      throw InputError("a part of the step takes 10^9 s or longer",
                       "check the batch, the sequence and the model");
  return trace;
}

StepWork step_work(const Transformer& model, const GpuDescription& gpu, const TransformerStep& step) {
  auto tokens = static_cast<double>(step.shape.tokens());
  auto layers = static_cast<double>(model.layers);
  double head = static_cast<double>(model.vocab) * static_cast<double>(model.hidden);
  double blocks = 2 * (model.multiplied_parameters() - head);
  double attention =
      4 * layers * static_cast<double>(model.query_width()) * static_cast<double>(step.shape.sequence);
  StepWork work{.peak = peak_of(gpu, step.precision), .tokens = tokens};
  work.model = Flops(3 * tokens * (blocks + 2 * head + attention));
  switch (step.shape.recompute) {
    case Recompute::none:
      break;
    case Recompute::selective:
      work.recomputed = Flops(tokens * attention);
      break;
    case Recompute::op:
      work.recomputed = Flops(tokens * 0.5 * blocks);
      break;
    case Recompute::full:
      work.recomputed = Flops(tokens * (blocks + attention));
      break;
  }
  return work;
}

}  // namespace ddpsim
