#include "sim/engine/parallel_step.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <tuple>
#include <utility>

#include "sim/engine/stage_buckets.hpp"

namespace ddpsim {
namespace {

class StepMaker {
 public:
  StepMaker(const ModelStep& step, const ParallelOptions& options, const TensorCollectives& tensor,
            const ContextCollectives& context, const ExpertCollectives& expert)
      : step_(step),
        options_(options),
        shape_(step.step.shape),
        tensor_(tensor),
        context_(context),
        expert_(expert),
        bytes_(activation_bytes(step.step.precision)),
        times_(step.model, step.gpu, step.software, step.step.precision, shape_, tensor, context, expert),
        parts_(step.model, times_, shape_) {}

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
    const auto& axis = options_.data_axis;
    const auto& degrees = options_.degrees;
    plan.data = axis.shards > 0 ? axis.shards : degrees.reducing();
    plan.replicas = degrees.reducing() / plan.data;
    plan.expert_data = std::max(1, degrees.reducing_experts() / plan.replicas);
    plan.reduction = axis.reduction;
    plan.overlaps_reduction = axis.overlaps_reduction;
    plan.gathers = axis.gathers;
    plan.overlaps_gather = axis.overlaps_gather;
    plan.gathers_in_turn = axis.holds_gathered;
    if (step_.model.tied && !shape.is_dual())
      plan.tied = Bytes(static_cast<double>(step_.model.vocab * step_.model.hidden) / shape_.tensor *
                        axis.gradient_bytes);
    plan.meets = step_.step.optimizer.clip_norm;
    held_ = most_in_flight(pipeline_order(shape));
    for (int rank = 0; rank < shape.ranks; ++rank) add(rank);
    if (options_.one_stage) plan_one_stage(*options_.one_stage);
    return std::move(result_);
  }

 private:
  [[nodiscard]] StageLayers layers_of(int rank, int chunk) const {
    int stage = options_.shape.stage_of(rank, chunk);
    auto layers = options_.layers[static_cast<std::size_t>(stage)];
    auto first = std::accumulate(options_.layers.begin(), options_.layers.begin() + stage, std::int64_t{0});
    Ends ends{stage == 0, stage + 1 == options_.shape.stages()};
    bool shares_table = step_.model.tied && ends.head && has_embedding(rank);
    return {layers, ends, step_.model.with_experts(first, layers), shares_table, shape_.recomputed};
  }
  // DualPipe's first and last ranks have both ends, one in each direction.
  [[nodiscard]] bool has_embedding(int rank) const {
    const auto& shape = options_.shape;
    for (int chunk = 0; chunk < shape.chunks; ++chunk)
      if (shape.stage_of(rank, chunk) == 0) return true;
    return false;
  }

  void add(int rank) {
    const auto& shape = options_.shape;
    auto& times = result_.plan.times.emplace_back();
    auto& reduced = result_.plan.reduced.emplace_back();
    auto& stage = result_.stages.emplace_back();
    double parameters = 0, experts = 0;
    Seconds passes;
    std::int64_t with_experts = 0, again_dense = 0, again_experts = 0;
    bool has_first = false, has_last = false;
    // DualPipe's micro-batches go half in each direction.
    int micro_batches = shape.is_dual() ? shape.micro_batches / 2 : shape.micro_batches;
    for (int chunk = 0; chunk < shape.chunks; ++chunk) {
      auto layers = layers_of(rank, chunk);
      auto of_chunk = stage_times(times_, layers);
      times.push_back(
          {of_chunk.forward, of_chunk.recompute, of_chunk.input_gradient, of_chunk.weight_gradient});
      passes += micro_batches *
                (of_chunk.forward + of_chunk.recompute + of_chunk.input_gradient + of_chunk.weight_gradient);
      stage.tensor += micro_batches * of_chunk.tensor;
      stage.context += micro_batches * of_chunk.context;
      stage.expert += micro_batches * of_chunk.expert;
      stage.layers += layers.layers;
      with_experts += layers.with_experts;
      auto dense = layers.layers - layers.with_experts;
      again_dense += std::min(shape_.recomputed, dense);
      again_experts += std::min(shape_.recomputed, layers.layers) - std::min(shape_.recomputed, dense);
      has_first |= layers.ends.embedding;
      has_last |= layers.ends.head;
      auto parts = parts_.of(layers);
      for (const auto& part : parts) parameters += part.parameters, experts += part.experts;
      reduced.push_back(
          stage_buckets(parts, options_.data_axis, rank == 0 && chunk == 0, shape_.expert.ranks > 1));
    }
    stage.recomputed = again_dense + again_experts;
    stage.on_links = on_links(stage, passes);
    const auto& axis = options_.data_axis;
    bool is_sharded = axis.sharding != Sharding::none;
    int shards = result_.plan.data;
    int expert_shards = shape_.expert.ranks > 1 ? result_.plan.expert_data : shards;
    result_.plan.optimizer.push_back(
        times_.optimizer(is_sharded ? parameters / shards + experts / expert_shards : parameters + experts));
    MemorySetup setup{.state = axis.state,
                      .sharding = axis.sharding,
                      .shards = shards,
                      .expert_shards = expert_shards,
                      .use = step_.software.memory_use,
                      .flash = step_.software.flash};
    // What is in flight is counted in chunks; memory in the rank's layers.
    double in_flight =
        static_cast<double>(held_[static_cast<std::size_t>(rank)]) / (shape.is_dual() ? 2.0 : shape.chunks);
    for (const auto& of_chunk : reduced)
      for (const auto& part : of_chunk) setup.buckets += held_in_buckets(part);
    setup.gathers_units = !axis.holds_gathered;
    stage.memory = memory_of(step_.model, shape_, bytes_, setup,
                             {.layers = stage.layers,
                              .micro_batches_in_flight = in_flight,
                              .is_first = has_first,
                              .is_last = has_last,
                              .with_experts = with_experts,
                              .recomputed_dense = again_dense,
                              .recomputed_experts = again_experts});
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

  // DistributedDataParallel's and DeepSpeed's buckets are beside the gradients, Megatron's are the gradients.
  [[nodiscard]] Bytes held_in_buckets(const ReducedPart& part) const {
    const auto& axis = options_.data_axis;
    if (axis.holds_gathered) return part.gradients + part.parameters;
    bool is_beside = axis.reduction == Operation::all_reduce && (axis.overlaps_reduction || axis.gathers);
    if (!is_beside || !result_.plan.is_reduced(part)) return {};
    return axis.gathers ? std::min(part.gradients, Bytes(axis.bucket_elements * axis.gradient_bytes))
                        : part.gradients;
  }

  // What a strategy does of this GPU's part of the layers, and holds of it.
  void plan_one_stage(const StrategyChoice& choice) {
    KnownParts known;
    auto made = std::make_shared<OneStage>();
    made->trace = transformer_trace(step_.model, step_.gpu, step_.software, step_.step, known, tensor_,
                                    context_, expert_);
    int ranks = options_.degrees.reducing();
    made->plan =
        choice.strategy->plan({.choice = choice, .trace = made->trace, .ranks = ranks, .step = &step_});
    result_.stages.front().memory = step_.memory(made->plan->held(
        {made->trace, step_, choice.ddp.gradient_as_bucket_view, options_.shape.micro_batches,
         choice.expert_shards ? held_parameters(step_.model, shape_, BlockKind::experts).all()
                              : static_cast<double>(step_.model.block_parameters()) / shape_.tensor}));
    result_.one_stage = std::move(made);
  }

  const ModelStep& step_;
  const ParallelOptions& options_;
  StepShape shape_;
  TensorCollectives tensor_;
  ContextCollectives context_;
  ExpertCollectives expert_;
  int bytes_;
  TransformerTimes times_;
  StageParts parts_;
  std::vector<int> held_;
  ParallelStep result_;
};

}  // namespace

const ParallelStage& ParallelStep::fullest() const {
  return *std::max_element(stages.begin(), stages.end(),
                           [](const auto& a, const auto& b) { return a.memory.peak() < b.memory.peak(); });
}

std::vector<StepProgram> parallel_programs(const ParallelStep& step, const Overheads& overheads) {
  if (!step.one_stage) return pipeline_programs(step.plan, overheads);
  const auto& [trace, plan] = *step.one_stage;
  std::vector<StepProgram> programs{plan->program(trace, step.options.shape.micro_batches, overheads)};
  programs.front().ready.clear();
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
  return {Bytes(of_a_value * static_cast<double>(split.model.query_width())),
          Bytes(of_a_value * 2 * static_cast<double>(split.model.key_width()))};
}

// Of what is gathered each rank has a part; of counts a whole number for each expert, of what a router chose
// a float32, or a byte, for each token and expert.
ExpertBytes expert_bytes(const ModelStep& split) {
  const auto& shape = split.step.shape;
  const auto& experts = split.model.experts;
  if (shape.expert.ranks == 1) return {};
  double token = static_cast<double>(split.model.hidden) * activation_bytes(split.step.precision);
  double ranks = shape.expert.ranks, rows = shape.rows(experts), count = static_cast<double>(experts.count);
  if (shape.expert.dispatcher == Dispatcher::all_to_all)
    return {Bytes(rows * token), Bytes(rows * token), Bytes(4 * rows), Bytes(4 * count * ranks),
            Bytes(shape.expert.tensor * rows * token)};
  double all = ranks * static_cast<double>(shape.routed());
  return {Bytes(all * token), Bytes(all * token), Bytes(4 * all * count), Bytes(all * count)};
}

ParallelStep make_parallel_step(const ModelStep& step, const ParallelOptions& options,
                                const TensorCollectives& tensor, const ContextCollectives& context,
                                const ExpertCollectives& expert) {
  return StepMaker(split_step(step, options.degrees), options, tensor, context, expert).make();
}

}  // namespace ddpsim
