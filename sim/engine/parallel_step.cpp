#include "sim/engine/parallel_step.hpp"

#include <algorithm>
#include <array>
#include <deque>
#include <numeric>
#include <tuple>
#include <utility>

#include "sim/compute/expert_dispatch.hpp"
#include "sim/program/shard_units.hpp"

namespace ddpsim {
namespace {

class StepMaker {
 public:
  StepMaker(const ModelStep& step, const ParallelOptions& options, KnownParts& parts,
            const TensorCollectives& tensor, const ContextCollectives& context,
            const ExpertCollectives& expert)
      : step_(step),
        options_(options),
        shape_(step.step.shape),
        tensor_(tensor),
        context_(context),
        expert_(expert),
        bytes_(activation_bytes(step.step.precision)),
        times_(step.model, step.gpu, step.software, step.step.precision, shape_, tensor, context, expert),
        parts_(parts.of(step.model, shape_.sequence, step.step.frozen)),
        training_(training_of(step.model, *parts_)) {}

  ParallelStep make() {
    const auto& shape = options_.shape;
    auto values = Bytes(static_cast<double>(shape_.tokens() * step_.model.hidden) * bytes_);
    result_.options = options_;
    result_.tensor = tensor_;
    result_.context = context_;
    result_.expert = expert_;
    result_.expert_bytes = expert_bytes(step_);
    std::tie(result_.queries, result_.keys_values) = attention_inputs(step_);
    result_.hidden_values = values;
    result_.small = Bytes(4.0 * static_cast<double>(shape_.tokens()));
    auto& plan = result_.plan;
    plan.shape = shape;
    plan.messages = options_.messages;
    plan.message = values / (shape_.sequence_parallel ? shape_.tensor : 1);
    for (const auto& use : options_.choice.strategy->communicators(options_.choice))
      plan.joined.push_back(options_.joined(use));
    const auto& degrees = options_.degrees;
    bool has_parts = degrees.tensor > 1 || degrees.pipeline > 1 || degrees.expert.ranks > 1;
    plan.meets = step_.step.optimizer.clip_norm && has_parts;
    orders_ = pipeline_order(shape);
    for (int rank = 0; rank < shape.ranks; ++rank) add(rank);
    return std::move(result_);
  }

 private:
  [[nodiscard]] StageLayers layers_of(int rank, int chunk) const {
    int stage = options_.shape.stage_of(rank, chunk);
    auto layers = options_.layers[static_cast<std::size_t>(stage)], first = first_layer(stage);
    Ends ends{stage == 0, stage + 1 == options_.shape.stages()};
    bool shares_table = step_.model.tied && ends.head && has_embedding(rank);
    StageLayers all{step_.model.kinds_of(first, layers), ends, shares_table, shape_.recomputed};
    set_training(training_, first, all);
    return all;
  }
  // DualPipe's first and last ranks have both ends, one in each direction.
  [[nodiscard]] bool has_embedding(int rank) const {
    const auto& shape = options_.shape;
    for (int chunk = 0; chunk < shape.chunks; ++chunk)
      if (shape.stage_of(rank, chunk) == 0) return true;
    return false;
  }

  // Where a chunk's blocks begin.
  [[nodiscard]] std::int64_t first_layer(int stage) const {
    return std::accumulate(options_.layers.begin(), options_.layers.begin() + stage, std::int64_t{0});
  }

  void add(int rank) {
    const auto& shape = options_.shape;
    auto& times = result_.plan.times.emplace_back();
    auto& chunks = result_.chunks.emplace_back();
    auto& stage = result_.stages.emplace_back();
    Seconds passes;
    PipelineStage held{.is_first = false, .is_last = false};
    // DualPipe's micro-batches go half in each direction.
    int micro_batches = shape.is_dual() ? shape.micro_batches / 2 : shape.micro_batches;
    for (int chunk = 0; chunk < shape.chunks; ++chunk) {
      auto layers = layers_of(rank, chunk);
      const auto& [of_chunk, plan] =
          chunk_of(layers, first_layer(shape.stage_of(rank, chunk)), rank == 0 && chunk == 0);
      chunks.push_back(plan);
      times.push_back(
          {of_chunk.forward, of_chunk.recompute, of_chunk.input_gradient, of_chunk.weight_gradient});
      passes += micro_batches *
                (of_chunk.forward + of_chunk.recompute + of_chunk.input_gradient + of_chunk.weight_gradient);
      stage.tensor += micro_batches * of_chunk.tensor;
      stage.context += micro_batches * of_chunk.context;
      stage.expert += micro_batches * of_chunk.expert;
      held.add(layers.kinds, shape_.recomputed);
      held.is_first |= layers.ends.embedding;
      held.is_last |= layers.ends.head;
    }
    stage.layers = held.layers();
    stage.recomputed = held.recomputed();
    stage.on_links = on_links(stage, passes);
    // Of all its layers: a chunk in flight counts as its part of them.
    std::vector<double> shares;
    for (int chunk = 0; chunk < shape.chunks; ++chunk) {
      auto layers = options_.layers[static_cast<std::size_t>(shape.stage_of(rank, chunk))];
      stage.chunks.push_back(layers);
      shares.push_back(static_cast<double>(layers) / std::max(1.0, static_cast<double>(stage.layers)));
    }
    stage.order = orders_[static_cast<std::size_t>(rank)];
    stage.in_flight = most_in_flight(stage.order, shares);
    stage.held = step_.memory(held_by(chunks), held);
  }

  struct Chunk {
    PipelineStageTimes times;
    std::shared_ptr<const ChunkPlan> plan;
  };
  // Those that are alike are one.
  const Chunk& chunk_of(const StageLayers& layers, std::int64_t first, bool is_first) {
    for (const auto& known : known_)
      if (known.layers == layers && known.is_first == is_first) return known.chunk;
    known_.push_back({layers, is_first, {stage_times(times_, layers), plan_of(layers, first, is_first)}});
    return known_.back().chunk;
  }
  std::shared_ptr<const ChunkPlan> plan_of(const StageLayers& layers, std::int64_t first, bool is_first) {
    if (layers.layers() == 0 && !layers.ends.embedding && !layers.ends.head) return nullptr;
    auto chunk = std::make_shared<ChunkPlan>();
    chunk->trace = stage_trace(*parts_, step_.model, times_, step_.step, first, layers);
    const auto& shape = options_.shape;
    ModelPart part{shape.ranks, shape.chunks, is_first};
    if (step_.model.tied && shape.ranks > 1) part.tied = tied_matrix(chunk->trace, layers.ends);
    const auto& choice = options_.choice;
    chunk->plan = choice.strategy->plan({.choice = choice,
                                         .trace = chunk->trace,
                                         .ranks = options_.degrees.reducing(),
                                         .step = &step_,
                                         .part = part});
    if (part.tied && !shape.is_dual()) {
      const auto& matrix = chunk->trace.gradients[*part.tied];
      result_.plan.tied = Bytes(static_cast<double>(matrix.elements) *
                                bytes_per_element(chunk->plan->reduced_in().value_or(matrix.dtype)));
    }
    return chunk;
  }

  // The embedding's, or the head's copy of it: no other is as large.
  std::optional<std::size_t> tied_matrix(const LayerTrace& trace, const Ends& ends) const {
    auto of_rank = static_cast<double>(step_.model.vocab * step_.model.hidden) / shape_.tensor;
    auto is_it = [&](std::size_t gradient) {
      const auto& one = trace.gradients[gradient];
      return !one.is_frozen && static_cast<double>(one.elements) >= of_rank;
    };
    auto last = trace.gradients.size() - 1;
    if (ends.embedding && is_it(last)) return last;
    if (ends.head && is_it(0)) return 0;
    return std::nullopt;
  }

  [[nodiscard]] HeldStates held_by(const std::vector<std::shared_ptr<const ChunkPlan>>& chunks) const {
    std::optional<HeldStates> all;
    const auto& choice = options_.choice;
    for (const auto& chunk : chunks) {
      if (!chunk) continue;
      auto of = shape_;
      if (!choice.expert_shards) of.expert = {};
      auto block = held_parameters(step_.model, of, step_.model.largest_kind()).all();
      auto held = chunk->plan->held(
          {chunk->trace, step_, choice.ddp.gradient_as_bucket_view, options_.shape.micro_batches, block});
      if (all) {
        held.buckets += all->buckets;
        held.buffers = std::max(held.buffers, all->buffers);
        held.unit_layers = std::max(held.unit_layers, all->unit_layers);
      }
      all = held;
    }
    if (!all) return {};
    if (!result_.plan.reduces()) all->buckets = all->buffers = {};
    std::vector<const LayerTrace*> traces;
    for (const auto& chunk : chunks)
      if (chunk) traces.push_back(&chunk->trace);
    all->trained = trained_of(traces, choice.expert_shards.has_value());
    all->keeps_gradients =
        all->state || options_.shape.micro_batches > 1 || choice.ddp.gradient_as_bucket_view;
    const auto& degrees = options_.degrees;
    all->communicators = std::max(0, all->communicators - 1);  // besides one an axis
    for (int of : {degrees.reducing(), degrees.tensor, degrees.pipeline, degrees.context,
                   degrees.expert.ranks, choice.expert_shards.value_or(1)})
      if (of > 1) ++all->communicators;
    return *all;
  }

  // All passes of a stage are taken to exchange as much as they do on average.
  [[nodiscard]] LinkUses on_links(const ParallelStage& stage, Seconds passes) const {
    LinkUses uses;
    auto add = [&](bool crosses_nodes, const auto& pass) {
      auto& use = crosses_nodes ? uses.between : uses.within;
      use.waited = std::min(1.0, use.waited + pass.exposed / passes);
      use.busy = std::min(1.0, use.busy + pass.busy / passes);
    };
    if (passes <= Seconds()) return uses;
    add(tensor_.crosses_nodes, stage.tensor);
    add(context_.crosses_nodes, stage.context);
    add(expert_.crosses_nodes, stage.expert);
    return uses;
  }

  const ModelStep& step_;
  const ParallelOptions& options_;
  StepShape shape_;
  TensorCollectives tensor_;
  ContextCollectives context_;
  ExpertCollectives expert_;
  int bytes_;
  TransformerTimes times_;
  std::shared_ptr<const std::vector<TransformerPart>> parts_;
  ModelTraining training_;
  std::vector<std::vector<PipelineTask>> orders_;
  struct KnownChunk {
    StageLayers layers;
    bool is_first;
    Chunk chunk;
  };
  std::deque<KnownChunk> known_;
  ParallelStep result_;
};

}  // namespace

const ParallelStage& ParallelStep::fullest() const {
  return *std::max_element(stages.begin(), stages.end(), [](const auto& a, const auto& b) {
    return a.memory().peak() < b.memory().peak();
  });
}

TrainedParameters trained_of(std::span<const LayerTrace* const> traces, bool splits_experts) {
  std::array<double, 2> all{}, trained{};
  for (const auto* trace : traces)
    for (const auto& gradient : trace->gradients) {
      bool is_apart = splits_experts && is_of_experts(gradient.name);
      all[is_apart] += static_cast<double>(gradient.elements);
      if (!gradient.is_frozen) trained[is_apart] += static_cast<double>(gradient.elements);
    }
  auto share = [&](bool is_apart) { return all[is_apart] > 0 ? trained[is_apart] / all[is_apart] : 1; };
  return {share(false), share(true)};
}

int ParallelOptions::joined(const CommunicatorUse& use) const {
  int reducing = degrees.reducing(), shards = choice.shards.value_or(reducing);
  switch (use.joined) {
    case Joined::shards:
      return shards;
    case Joined::replicas:
      return reducing / shards;
    case Joined::experts:
      return choice.expert_shards.value_or(1);
    case Joined::all:
    case Joined::sets:
    case Joined::servers:
    case Joined::listed:
      break;
  }
  return reducing;
}

std::vector<StepProgram> parallel_programs(const ParallelStep& step, const Overheads& overheads) {
  bool reduces = step.plan.reduces();
  auto programs = pipeline_programs(
      step.plan, overheads, [&](StepBuilder& builder, int rank, int chunk) -> std::unique_ptr<DataAxis> {
        const auto& one = step.chunks[static_cast<std::size_t>(rank)][static_cast<std::size_t>(chunk)];
        if (!one) return std::make_unique<PlainAxis>(builder, Seconds(), Seconds(), Seconds());
        const auto& [trace, plan] = *one;
        if (reduces) return plan->at_work(trace, builder);
        return std::make_unique<PlainAxis>(builder, *trace.forward, trace.backward(), *trace.optimizer);
      });
  for (auto& program : programs) program.ready.clear();
  return programs;
}

ModelStep split_step(const ModelStep& step, const Parallelism& degrees) {
  auto split = step;
  auto& shape = split.step.shape;
  shape.tensor = degrees.tensor;
  shape.sequence_parallel = degrees.sequence;
  shape.context = degrees.context;
  shape.context_kind = degrees.context_kind;
  shape.expert = degrees.expert;
  return split;
}

std::pair<Bytes, Bytes> attention_inputs(const ModelStep& split) {
  const auto& shape = split.step.shape;
  double of_a_value =
      static_cast<double>(shape.tokens()) / shape.tensor * activation_bytes(split.step.precision);
  auto of = split.model.widths(split.model.largest_kind().attention);
  auto keys_values = split.software.repeats_keys ? of.query + of.output : of.key + of.value;
  return {Bytes(of_a_value * static_cast<double>(of.query)),
          Bytes(of_a_value * static_cast<double>(keys_values))};
}

// Of what is gathered each rank has a part; of counts a whole number for each expert, of what a router chose
// a float32, or a byte, for each token and expert.
ExpertBytes expert_bytes(const ModelStep& split) {
  const auto& shape = split.step.shape;
  const auto& experts = split.model.experts;
  if (shape.expert.ranks == 1) return {};
  if (!is_of_nccl(shape.expert.dispatcher)) {
    auto bytes = dispatch_bytes(shape.expert, dispatch_load(split.model, shape));
    return {bytes.dispatch, bytes.combine, Bytes(), Bytes()};
  }
  double token = static_cast<double>(split.model.hidden) * activation_bytes(split.step.precision);
  double ranks = shape.expert.ranks, rows = shape.rows(experts), count = static_cast<double>(experts.count);
  if (shape.expert.dispatcher == Dispatcher::all_to_all)
    return {Bytes(rows * token), Bytes(rows * token), Bytes(4 * rows), Bytes(4 * count * ranks),
            Bytes(shape.expert.tensor * rows * token)};
  double all = ranks * static_cast<double>(shape.routed());
  return {Bytes(all * token), Bytes(all * token), Bytes(4 * all * count), Bytes(all * count)};
}

ParallelStep make_parallel_step(const ModelStep& step, const ParallelOptions& options, KnownParts& parts,
                                const TensorCollectives& tensor, const ContextCollectives& context,
                                const ExpertCollectives& expert) {
  return StepMaker(split_step(step, options.degrees), options, parts, tensor, context, expert).make();
}

}  // namespace ddpsim
