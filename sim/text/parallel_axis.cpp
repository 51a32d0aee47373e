// `strategy` where GPUs share a copy of the model: what the data axis does with each GPU's part.
#include <algorithm>

#include <fmt/core.h>

#include "sim/text/parallel_section.hpp"
#include "sim/text/scenario_reader.hpp"

namespace ddpsim {
namespace {

using config::Value;

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

// Buckets here are whole blocks, in the order of the backward pass.
void check_ddp_options(const DdpOptions& options, const Value* ddp) {
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
      throw InputError(ddp->find(key)->value.span,
                       fmt::format("ddp.{} of a model that GPUs share is not simulated", key), "remove it");
}

// DeepSpeed 0.16.9's pipeline engine reduces after the last micro-batch, nothing overlapped (runtime/pipe/
// schedule.py: ReduceGrads); without a pipeline stage_1_and_2.py does.
DataAxis zero1(const ZeroOptions& options, bool has_pipeline) {
  DataAxis axis;
  axis.gradient_bytes = bytes_per_element(options.reduce_dtype.value_or(options.param_dtype));
  axis.parameter_bytes = bytes_per_element(options.param_dtype);
  axis.overlaps_reduction = !has_pipeline && options.overlap_comm.value_or(false);
  axis.gathers = true;
  axis.bucket_elements = static_cast<double>(options.reduce_bucket_size);
  axis.sharding = Sharding::optimizer;
  axis.state =
      mixed_precision_state(options.param_dtype, options.grad_accum_dtype.value_or(options.param_dtype));
  return axis;
}

// Megatron Core 0.16.1: buckets in the first chunk of the first stage, all others are one
// (distributed_data_parallel.py:64-102).
DataAxis megatron(const MegatronOptions& options, int data) {
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
  axis.state = mixed_precision_state(options.param_dtype, reduced);
  return axis;
}

}  // namespace

DataAxis ScenarioReader::read_data_axis(const Value& root, Strategy strategy, const DdpOptions& options,
                                        const ParallelSection& parallel, int data, Scenario& scenario) {
  auto section = [&root](const char* key) {
    const auto* entry = root.find(key);
    return entry ? &entry->value : nullptr;
  };
  switch (strategy) {
    case Strategy::ddp:
      check_ddp_options(options, section("ddp"));
      [[fallthrough]];
    case Strategy::flat:
      return all_reduced(strategy, options, *scenario.model_step);
    case Strategy::zero1: {
      auto zero = read_zero_section(section("zero"), computed_in(scenario));
      if (zero.offload_optimizer || zero.offload_param)
        throw InputError(section("zero")->span, "offloading of a model that GPUs share is not simulated",
                         "remove it");
      return zero1(zero, parallel.pipeline > 1);
    }
    case Strategy::megatron:
      return megatron(read_megatron_section(section("megatron"), computed_in(scenario)), data);
    default:
      break;
  }
  const auto* given = section("strategy");
  throw InputError(
      given ? given->span : parallel.place(),
      fmt::format("strategy {} of a model that GPUs share is not simulated yet", strategy_name(strategy)),
      "use ddp, flat, zero1 or megatron");
}

}  // namespace ddpsim
