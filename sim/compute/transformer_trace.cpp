#include "sim/compute/transformer_trace.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include <fmt/core.h>

#include "sim/base/limits.hpp"
#include "sim/base/source.hpp"
#include "sim/compute/block_schedule.hpp"

namespace ddpsim {
namespace {

// A pass over a stage's blocks.
class BlockPasses {
 public:
  BlockPasses(const std::vector<TransformerPart>& parts, const TransformerTimes& times, std::int64_t first,
              const StageLayers& stage)
      : first_(first) {
    for (std::int64_t block = 0; block < stage.layers(); ++block) {
      auto known =
          std::ranges::find_if(alike_, [&](const Known& one) { return stage.is_alike(one.block, block); });
      of_block_.push_back(static_cast<std::size_t>(known - alike_.begin()));
      if (known != alike_.end()) continue;
      auto of = block_times(times, stage, block);
      auto schedule = block_schedule(parts[1 + static_cast<std::size_t>(first + block)], of);
      alike_.push_back({block, std::move(of), std::move(schedule)});
    }
  }

  struct Known {
    std::int64_t block;  // the first like that
    BlockTimes times;
    BlockSchedule schedule;
  };
  [[nodiscard]] const Known& of(std::int64_t block) const {
    return alike_[of_block_[static_cast<std::size_t>(block - first_)]];
  }
  // Of those before that one: so many of each kind.
  [[nodiscard]] Seconds forward_until(std::int64_t block) const {
    Seconds time;
    for (std::size_t i = 0, end = static_cast<std::size_t>(block - first_); i < end;) {
      auto alike = of_block_[i], from = i;
      while (i < end && of_block_[i] == alike) ++i;
      time += static_cast<double>(i - from) * alike_[alike].times.forward.time;
    }
    return time;
  }

 private:
  std::int64_t first_;
  std::vector<Known> alike_;
  std::vector<std::size_t> of_block_;
};

// With what they communicate in a tensor-parallel group.
EndTimes ends_of(const TransformerTimes& times, const StageLayers& stage) {
  const auto& of = stage.ends;
  auto ends = trained_ends(times, stage);
  Ends embedding{of.embedding, false}, head{false, of.head};
  ends.embedding_forward += times.tensor_ends_forward(embedding).exposed;
  ends.head_forward += times.tensor_ends_forward(head).exposed;
  if (reached_ends(stage).embedding) ends.embedding_backward += times.tensor_ends_backward(embedding).exposed;
  ends.head_backward += times.tensor_ends_backward(head).exposed;
  return ends;
}

class TraceBuilder {
 public:
  TraceBuilder(const std::vector<TransformerPart>& parts, const Transformer& model,
               const TransformerTimes& times, const TransformerStep& step, std::int64_t first,
               const StageLayers& stage)
      : parts_(parts),
        model_(model),
        blocks_(parts, times, first, stage),
        ends_(ends_of(times, stage)),
        first_(first),
        stage_(stage),
        held_share_(model.has_experts() ? held_share(parts, model, step.shape) : 1),
        vocabulary_rows_(times.vocabulary_rows()),
        step_(step) {}

  LayerTrace build() {
    auto end = first_ + stage_.layers();
    auto tensors = tensors_of(0);
    for (auto block = first_; block < end; ++block) tensors += tensors_of(1 + block);
    trace_.gradients.reserve(tensors + tensors_of(model_.layers + 1) + 1);
    places_.reserve(trace_.gradients.capacity());
    if (stage_.ends.head) add_head(end);
    for (auto block = end; block-- > first_;) {
      const auto& modules = parts_[1 + static_cast<std::size_t>(block)].modules;
      const auto& known = blocks_.of(block);
      for (auto i = modules.size(); i-- > 0;)
        add(modules[i], forward_start(block) + known.schedule.forward_end[i],
            now_ + known.schedule.backward_end[i]);
      now_ += known.times.recompute + known.times.backward.time;
    }
    if (stage_.ends.embedding) {
      now_ += ends_.embedding_backward;
      const auto& embeddings = parts_.front().modules;
      for (auto i = embeddings.size(); i-- > 0;) add(embeddings[i], ends_.embedding_forward, now_);
    }
    trace_.forward = forward_start(end) + ends_.head_forward;
    register_in_order();
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
    auto block = std::int64_t{0};
    while (!model.kind_of(block).has_experts) ++block;
    double all = 0;
    for (const auto& module : parts[1 + static_cast<std::size_t>(block)].modules)
      for (const auto& tensor : module.tensors)
        if (is_of_experts(module))
          all += static_cast<double>(elements_of_shard(module, tensor, 0, shape.tensor));
    return held_parameters(model, shape, model.kind_of(block)).experts / all;
  }

  [[nodiscard]] std::size_t tensors_of(std::int64_t part) const {
    std::size_t tensors = 0;
    for (const auto& module : parts_[static_cast<std::size_t>(part)].modules)
      tensors += module.tensors.size();
    return tensors;
  }
  [[nodiscard]] Seconds forward_start(std::int64_t block) const {
    return ends_.embedding_forward + blocks_.forward_until(block);
  }

  void add_head(std::int64_t end) {
    now_ = ends_.head_backward;
    auto forward_end = forward_start(end) + ends_.head_forward;
    if (model_.tied && !stage_.ends.embedding && !stage_.shares_table) add_table(forward_end);
    const auto& modules = parts_.back().modules;
    for (auto module = modules.rbegin(); module != modules.rend(); ++module) add(*module, forward_end, now_);
  }
  // The head's copy of the embedding's matrix.
  void add_table(Seconds forward_end) {
    for (const auto& module : parts_.front().modules)
      if (module.role == ModuleRole::token_embedding) add(module, forward_end, now_);
    for (auto& place : places_) place = std::numeric_limits<std::size_t>::max();  // registered last
  }

  void add(const TransformerModule& module, Seconds forward_end, Seconds ready) {
    for (const auto& tensor : module.tensors) {
      places_.push_back(tensor.parameter);
      auto elements = step_.shape.tensor == 1
                          ? tensor.elements
                          : elements_of_shard(module, tensor, vocabulary_rows_, step_.shape.tensor);
      if (is_of_experts(module)) elements = std::llround(held_share_ * static_cast<double>(elements));
      trace_.gradients.push_back(
          {tensor.name, elements, step_.gradients, ready, {}, forward_end, tensor.is_frozen});
    }
  }

  void register_in_order() {
    auto& order = trace_.registration_order;
    order.resize(places_.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, {}, [&](std::size_t gradient) { return places_[gradient]; });
  }

  const std::vector<TransformerPart>& parts_;
  const Transformer& model_;
  BlockPasses blocks_;
  EndTimes ends_;
  std::int64_t first_;
  StageLayers stage_;
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
                             const TransformerStep& step, KnownParts& known) {
  check_sequence(model, step.shape.sequence);
  TransformerTimes times(model, gpu, software, step.precision, step.shape);
  StageLayers all{model.kinds_of(0, model.layers), {}, model.tied, step.shape.recomputed};
  auto parts = known.of(model, step.shape.sequence, step.frozen);
  set_training(training_of(model, *parts), 0, all);
  auto trace = stage_trace(*parts, model, times, step, 0, all);
  auto& metadata = trace.metadata;
  metadata.model = model.name;
  metadata.device = gpu.name;
  metadata.batch_size = step.shape.micro_batch;
  metadata.sequence_length = step.shape.sequence;
  metadata.synthetic = fmt::format("compute law, framework {}", software.name);
  return trace;
}

LayerTrace stage_trace(const std::vector<TransformerPart>& parts, const Transformer& model,
                       const TransformerTimes& times, const TransformerStep& step, std::int64_t first,
                       const StageLayers& stage) {
  auto trace = TraceBuilder(parts, model, times, step, first, stage).build();
  double parameters = 0;
  for (const auto& gradient : trace.gradients)
    if (!gradient.is_frozen) parameters += static_cast<double>(gradient.elements);
  trace.optimizer = times.optimizer(parameters);
  for (const auto& time : {trace.forward, trace.optimizer, std::optional(trace.backward())})
    if (!(*time < kLongestDuration))
      throw InputError("a part of the step takes 10^9 s or longer",
                       "check the batch, the sequence and the model");
  return trace;
}

namespace {

// Operations of a token, forward, in the modules that are computed again.
double module_operations(const Transformer& model, const StepShape& shape) {
  using Module = RecomputedModule;
  auto h = static_cast<double>(model.hidden), matrices = static_cast<double>(model.feed_forward_matrices());
  const auto& experts = model.experts;
  double shared = matrices * h * static_cast<double>(model.shared_width());
  double routed = matrices * h * static_cast<double>(experts.top_k * experts.ffn);
  const auto& latent = model.latent;
  double up =
      static_cast<double>(model.heads) * static_cast<double>(latent.query_rank * (latent.nope + latent.rope) +
                                                             latent.rank * (latent.nope + latent.value));
  double all = 0;
  for (const auto& [kind, count] : model.kinds()) {
    double block = 0;
    if (shape.modules.has(Module::core_attn))
      block += model.attention_operations(kind.attention, shape.sequence);
    if (kind.attention == AttentionKind::latent && shape.modules.has(Module::mla_up_proj)) block += 2 * up;
    if (!kind.has_experts && shape.modules.has(Module::mlp))
      block += 2 * matrices * h * static_cast<double>(model.ffn);
    if (kind.has_experts && shape.modules.has(Module::moe))
      block += 2 * (routed + shared);
    else if (kind.has_experts && shape.modules.has(Module::shared_experts))
      block += 2 * shared;
    all += static_cast<double>(count) * block;
  }
  return all;
}

}  // namespace

StepWork step_work(const Transformer& model, const GpuDescription& gpu, const TransformerStep& step,
                   const ModelTraining& training) {
  auto tokens = static_cast<double>(step.shape.tokens());
  double head = static_cast<double>(model.vocab) * static_cast<double>(model.hidden);
  double blocks = 2 * (model.multiplied_parameters() - head);
  double attention = 0;
  for (const auto& run : model.kinds())
    attention +=
        static_cast<double>(run.count) * model.attention_operations(run.kind.attention, step.shape.sequence);
  StepWork work{.peak = peak_of(gpu, step.precision), .tokens = tokens};
  // Forward, the inputs' gradients where the backward pass comes, and those of what is trained.
  work.model = Flops(tokens * (blocks * (1 + training.reached + training.trained) +
                               2 * head * (2 + (training.trains_head ? 1 : 0)) +
                               attention * (1 + 2 * training.reached)));
  switch (step.shape.recompute) {
    case Recompute::none:
      break;
    case Recompute::selective:
      work.recomputed = Flops(training.reached * tokens * module_operations(model, step.shape));
      break;
    case Recompute::op:
      work.recomputed = Flops(training.reached * tokens * 0.5 * blocks);
      break;
    case Recompute::full:
      work.recomputed = Flops(training.reached * tokens * (blocks + attention));
      break;
  }
  return work;
}

}  // namespace ddpsim
