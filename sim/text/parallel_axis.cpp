// `strategy` where GPUs share a copy of the model: what the data axis does with each GPU's part.
#include <algorithm>

#include <fmt/core.h>
#include <fmt/ranges.h>

#include "sim/text/parallel_section.hpp"
#include "sim/text/scenario_reader.hpp"

namespace ddpsim {
namespace {

constexpr Bytes kUsualCap{25 * 1024 * 1024};  // DistributedDataParallel's bucket_cap_mb

// DistributedDataParallel around a stage: buckets in the order of its backward pass. Flat: all gradients
// once.
DataAxis all_reduced(Strategy strategy, const DdpOptions& options, const ModelStep& step) {
  DataAxis axis;
  axis.gradient_bytes = axis.parameter_bytes = bytes_per_element(step.step.gradients);
  axis.state = step.state;
  axis.overlaps_reduction = strategy == Strategy::ddp;
  if (strategy != Strategy::ddp) return axis;
  axis.bucket_elements = options.bucket_cap.value_or(kUsualCap).value() / axis.gradient_bytes;
  if (options.comm_hook == CommHook::fp16 || options.comm_hook == CommHook::bf16) axis.gradient_bytes = 2;
  return axis;
}

// Buckets here are those of one cap.
void check_ddp_options(const GivenJob& given) {
  const auto& options = given.job.ddp;
  for (auto [is_so, key] : {std::pair(options.comm_hook == CommHook::power_sgd, "comm_hook"),
                            {!options.bucket_caps.empty(), "bucket_caps"},
                            {options.first_bucket_cap.has_value(), "first_bucket_cap"},
                            {options.compiled, "compiled"},
                            {options.process_groups > 1, "process_groups"},
                            {options.find_unused_parameters, "find_unused_parameters"},
                            {options.static_graph, "static_graph"},
                            {options.iteration != DdpIteration::steady, "iteration"},
                            {options.rule != BucketRule::torch, "rule"}})
    if (is_so)
      throw InputError(given.at(fmt::format("ddp.{}", key)),
                       fmt::format("ddp.{} of a model that GPUs share is not simulated", key), "remove it");
}

// DeepSpeed 0.16.9's pipeline engine reduces after the last micro-batch, nothing overlapped (runtime/pipe/
// schedule.py: ReduceGrads); without a pipeline stage_1_and_2.py does.
DataAxis zero1(const ZeroOptions& options, bool has_pipeline, const Optimizer& optimizer) {
  DataAxis axis;
  axis.gradient_bytes = bytes_per_element(options.reduce_dtype.value_or(options.param_dtype));
  axis.parameter_bytes = bytes_per_element(options.param_dtype);
  axis.overlaps_reduction = !has_pipeline && options.overlap_comm.value_or(false);
  axis.gathers = true;
  axis.bucket_elements = static_cast<double>(options.reduce_bucket_size);
  axis.closes_before = true;
  axis.sharding = Sharding::optimizer;
  axis.state = mixed_precision_state(options.param_dtype,
                                     options.grad_accum_dtype.value_or(options.param_dtype), optimizer);
  return axis;
}

// Megatron Core 0.16.1: buckets in the first chunk of the first stage, all others are one
// (distributed_data_parallel.py:64-102).
DataAxis megatron(const MegatronOptions& options, int data, const Optimizer& optimizer) {
  DataAxis axis;
  bool in_fp32 = options.grad_reduce_in_fp32.value_or(options.param_dtype != DType::float16);
  auto reduced = in_fp32 ? DType::float32 : options.param_dtype;
  axis.reduction = Operation::reduce_scatter;
  axis.gradient_bytes = bytes_per_element(reduced);
  axis.parameter_bytes = bytes_per_element(options.param_dtype);
  axis.overlaps_reduction = options.overlap_grad_reduce;
  axis.gathers = true;
  axis.overlaps_gather = options.overlap_param_gather;
  if (options.overlap_grad_reduce)
    axis.bucket_elements =
        options.bucket_size ? static_cast<double>(*options.bucket_size) : std::max(40e6, 1e6 * data);
  axis.only_first_has_buckets = true;
  axis.sharding = Sharding::optimizer;
  axis.state = mixed_precision_state(options.param_dtype, reduced, optimizer);
  return axis;
}

void refuse_offload(bool offloads, const SourceSpan& place) {
  if (offloads)
    throw InputError(place, "offloading of a model that GPUs share is not simulated", "remove it");
}

// Of ranks that hold parts of weights or gradients.
constexpr bool needs_several(Strategy strategy) {
  return is_sharded(strategy) && strategy != Strategy::zero1 && strategy != Strategy::megatron;
}

void check_data_axis(Strategy strategy, int data, const SourceSpan& place) {
  if (data == 1)
    throw InputError(
        place,
        fmt::format("strategy {} shards over the data axis, and that is one rank", strategy_name(strategy)),
        "use more GPUs, or strategy: ddp");
}

// torchtitan's fully_shard of a stage: with a pipeline units stay gathered, and gradients whole, until the
// last micro-batch is through (parallelize_llama.py, fsdp_reshard_after_forward: default), and PyTorch 2.15
// reduces them after its backward pass (distributed/pipelining/stage.py, backward_maybe_with_nosync).
DataAxis fsdp_of_stages(const GivenJob& given, const FsdpOptions& options, const Transformer& model,
                        const Optimizer& optimizer) {
  for (auto [is_so, key] : {std::pair(options.reshard_after_forward, "reshard_after_forward"),
                            {options.reduce_every_micro_batch, "reduce_every_micro_batch"}})
    if (auto path = fmt::format("fsdp.{}", key); is_so && given.has(path))
      throw InputError(
          given.at(path),
          fmt::format("under a pipeline fsdp.{} is false, as in torchtitan: units stay gathered, "
                      "and gradients whole, until the last micro-batch is through",
                      key),
          "remove it, or use one stage");
  for (auto [is_so, key] : {std::pair(!options.units.names.empty(), "units"),
                            {options.communicators > 1, "communicators"},
                            {options.reshard_last, "reshard_last"}})
    if (is_so)
      throw InputError(given.at(fmt::format("fsdp.{}", key)),
                       fmt::format("fsdp.{} of the stages of a pipeline is not simulated", key),
                       "remove it, or use one stage");
  DataAxis axis;
  axis.reduction = Operation::reduce_scatter;
  axis.overlaps_reduction = false;
  axis.gathers = axis.overlaps_gather = true;
  axis.holds_gathered = true;
  axis.gradient_bytes = bytes_per_element(options.reduce_dtype);
  axis.parameter_bytes = bytes_per_element(options.param_dtype);
  axis.bucket_elements = options.units.bytes
                             ? options.units.bytes->value() / 4
                             : options.units.blocks * static_cast<double>(model.block_parameters()) /
                                   given.job.parallelism.tensor;
  axis.sharding = Sharding::weights;
  axis.state = {4, 4, optimizer.state_bytes(4), 0};
  return axis;
}

// What a strategy does of whole models, and not yet of parts of them.
void check_whole_parts(const GivenJob& given) {
  const auto& options = given.job.ddp;
  for (auto [is_so, key] : {std::pair(options.comm_hook == CommHook::power_sgd, "comm_hook"),
                            {options.compiled, "compiled"},
                            {options.process_groups > 1, "process_groups"}})
    if (is_so && given.job.strategy == Strategy::ddp)
      throw InputError(given.at(fmt::format("ddp.{}", key)),
                       fmt::format("ddp.{} of a model that GPUs share is not simulated", key), "remove it");
}

// torchtitan's two dimensions: of those that reduce so many hold the parameters together.
void check_shard_group(const GivenJob& given, int shards, int reducing) {
  if (shards < 2 || reducing % shards != 0)
    throw InputError(given.at(given.has("fsdp.shard_group") ? "fsdp.shard_group" : "strategy"),
                     fmt::format("{} data-parallel ranks are not groups of {}", reducing, shards),
                     "the ranks of a shard group divide those of the data axis");
}

// Of the stages of a pipeline, of experts that ranks share, or where one rank reduces.
DataAxis axis_of_stages(const GivenJob& given, const DdpOptions& ddp, const FsdpOptions& fsdp,
                        const ParallelSection& parallel, int data, const Scenario& scenario) {
  auto strategy = given.job.strategy;
  const auto& place = given.has("strategy") ? given.at("strategy") : parallel.place();
  const auto& optimizer = scenario.model_step->step.optimizer;
  auto computed = computed_in(scenario);
  switch (strategy) {
    case Strategy::ddp:
      check_ddp_options(given);
      [[fallthrough]];
    case Strategy::flat:
      return all_reduced(strategy, ddp, *scenario.model_step);
    case Strategy::zero1:
      return zero1(settled(given.job.zero, computed), parallel.pipeline > 1, optimizer);
    case Strategy::zero2:
    case Strategy::zero3:
      throw InputError(
          place,
          fmt::format("DeepSpeed's pipelines take no {}: they keep whole gradients until the last "
                      "micro-batch (runtime/pipe/engine.py)",
                      strategy_name(strategy)),
          "use zero1, or fsdp, or one stage");
    case Strategy::fsdp:
      return fsdp_of_stages(given, fsdp, scenario.model_step->model, optimizer);
    case Strategy::fsdp1:
    case Strategy::hsdp:
    case Strategy::hsdp1:
      throw InputError(
          place,
          fmt::format("strategy {} of the stages of a pipeline is not simulated", strategy_name(strategy)),
          "use fsdp, zero1, megatron or ddp, or one stage");
    case Strategy::megatron:
      return megatron(settled(given.job.megatron, computed), data, optimizer);
    default:
      throw InputError(
          place,
          fmt::format("strategy {} of a model that GPUs share is not simulated", strategy_name(strategy)),
          fmt::format("use one of {}", fmt::join(strategies_that(can_share_models), ", ")));
  }
}

}  // namespace

DataAxis ScenarioReader::read_data_axis(const GivenJob& given, const DdpOptions& options,
                                        const ParallelSection& parallel, int data, Scenario& scenario) {
  auto strategy = given.job.strategy;
  const auto& place = given.has("strategy") ? given.at("strategy") : parallel.place();
  bool splits_experts = parallel.expert.shape.ranks > 1;
  if (splits_experts && strategy != Strategy::ddp && strategy != Strategy::flat &&
      strategy != Strategy::zero1 && strategy != Strategy::megatron)
    throw InputError(
        place,
        fmt::format("strategy {} of experts that ranks share is not simulated", strategy_name(strategy)),
        "use ddp, flat, zero1 or megatron, or parallelism: {expert: 1}");
  auto fsdp = read_fsdp(given, scenario);
  auto zeros = settled(given.job.zero, computed_in(scenario));
  bool is_zero = all_reduces_shards(strategy) || strategy == Strategy::zero3;
  refuse_offload(is_zero && (zeros.offload_optimizer || zeros.offload_param), given.at("zero"));
  refuse_offload(fsdp.cpu_offload, given.at("fsdp"));
  if (needs_several(strategy)) check_data_axis(strategy, data, place);
  bool is_whole = parallel.pipeline == 1 && !splits_experts && data > 1;
  if (!is_whole || !(all_reduces(strategy) || is_sharded(strategy)))
    return axis_of_stages(given, options, fsdp, parallel, data, scenario);
  check_whole_parts(given);
  if (shards_within_groups(strategy)) {
    if (!fsdp.shard_group) {
      settle_shard_group(given, fsdp);
      if (*fsdp.shard_group % parallel.tensor != 0 || *fsdp.shard_group == parallel.tensor)
        throw InputError(place,
                         fmt::format("a node's {} GPUs are not several ranks of the data axis with tensor {}",
                                     *fsdp.shard_group, parallel.tensor),
                         "write fsdp: {shard_group: RANKS}, a divisor of the data-parallel ranks");
      *fsdp.shard_group /= parallel.tensor;
    }
    check_shard_group(given, *fsdp.shard_group, data);
  }
  DataAxis axis;
  axis.one_stage = {strategy, options, std::move(fsdp), zeros,
                    settled(given.job.megatron, computed_in(scenario))};
  return axis;
}

}  // namespace ddpsim
