// What each strategy's ranks hold of a model: Scenario::held_states.
#include "sim/engine/held_states.hpp"

#include <algorithm>

#include "sim/engine/scenario.hpp"

namespace ddpsim {
namespace {

Bytes held_in(const BucketedPlan& plan, double elements) {
  return Bytes(elements * bytes_per_element(plan.param_dtype));
}

// What is kept of a parameter: gradients in the dtype they are added up in; offloaded ones leave with their
// bucket, unless they are whole.
StateBytes kept_state(const BucketedPlan& plan, const ZeroOptions& options, const Optimizer& optimizer) {
  auto state =
      mixed_precision_state(plan.param_dtype, options.grad_accum_dtype.value_or(plan.param_dtype), optimizer);
  if (options.offload_optimizer) {
    state.optimizer = 0;
    if (plan.strategy != Strategy::zero1) state.gradients = 0;
  }
  if (options.offload_param) state.weights = 0;
  return state;
}

// DistributedDataParallel keeps its buckets beside the gradients, unless those are views of them
// (reducer.cpp); a flat buffer does the same. PowerSGD keeps what its compression lost.
HeldStates held_by(const ReductionPlan& plan, const HeldOf& of) {
  bool has_buckets =
      plan.strategy == Strategy::flat || (plan.strategy == Strategy::ddp && !of.gradients_are_views);
  bool keeps_errors = plan.low_rank && plan.low_rank->options.error_feedback;
  return {.buckets = (has_buckets + keeps_errors) * of.trace.bytes()};
}

HeldStates held_by(const FsdpPlan& plan, const HeldOf& of) {
  HeldStates held{.sharding = Sharding::weights, .shards = plan.shards, .on_host = plan.options.cpu_offload};
  if (!plan.options.reshard_after_forward) {
    for (std::size_t unit = 0; unit < plan.units.size(); ++unit) held.buckets += plan.gathered(unit);
  }
  // Without a reduction after each micro-batch whole gradients wait for the last one.
  if (!plan.options.reduce_every_micro_batch && of.accumulation_steps > 1) held.buckets += of.trace.bytes();
  for (std::size_t unit = 1; unit < plan.units.size(); ++unit)
    held.unit_layers =
        std::max(held.unit_layers, static_cast<double>(plan.units[unit].elements) / of.block_parameters);
  return held;
}

// Buckets are allocated whole, whatever they are filled with (stage_1_and_2.py, backward_prologue): two where
// one is filled while the other is reduced. Each is flattened once more to be reduced.
HeldStates held_by(const ZeroPlan& plan, const HeldOf& of) {
  auto size = static_cast<double>(plan.options.reduce_bucket_size);
  std::int64_t largest = 0;
  for (const auto& bucket : plan.buckets) largest = std::max(largest, bucket.elements);
  double buckets = plan.options.contiguous_gradients ? (plan.overlaps ? 2 * size : size) : 0;
  return {.sharding = plan.strategy == Strategy::zero1 ? Sharding::optimizer : Sharding::gradients,
          .shards = plan.ranks,
          .buckets = held_in(plan, buckets) +
                     Bytes(static_cast<double>(largest) * bytes_per_element(plan.reduce_dtype)),
          .state = kept_state(plan, plan.options, of.step.step.optimizer)};
}

// What is gathered at once, what is never released, one bucket (stage3.py, ipg_bucket_flat_buffer) and its
// copy that is scattered.
HeldStates held_by(const Zero3Plan& plan, const HeldOf& of) {
  std::int64_t largest = 0;
  for (const auto& bucket : plan.buckets) largest = std::max(largest, bucket.elements);
  double buckets =
      plan.options.contiguous_gradients ? static_cast<double>(plan.options.reduce_bucket_size) : 0;
  return {.sharding = Sharding::weights,
          .shards = plan.ranks,
          .buckets = held_in(plan, static_cast<double>(plan.schedule.most_live + plan.schedule.persistent) +
                                       buckets) +
                     Bytes(static_cast<double>(largest) * bytes_per_element(plan.reduce_dtype)),
          .state = kept_state(plan, plan.options, of.step.step.optimizer)};
}

// Its buffers are the parameters and the gradients themselves, but for their padding.
HeldStates held_by(const MegatronPlan& plan, const HeldOf& of) {
  std::int64_t elements = 0;
  for (const auto& bucket : plan.buckets) elements += bucket.elements;
  auto padding = static_cast<double>(elements - total_elements(of.trace));
  return {.sharding = Sharding::optimizer,
          .shards = plan.ranks,
          .buckets =
              Bytes(padding * (bytes_per_element(plan.param_dtype) + bytes_per_element(plan.reduce_dtype))),
          .state = mixed_precision_state(plan.param_dtype, plan.reduce_dtype, of.step.step.optimizer)};
}

// GPU 0 holds what was reduced beside its own gradients, the others' outputs, and their losses' logits.
HeldStates held_by(const SingleProcessPlan& plan, const HeldOf& of) {
  const auto& step = of.step;
  auto others = static_cast<double>(plan.replicas - 1);
  HeldStates held{.buckets = of.trace.bytes()};
  held.buckets += (1.0 + others) * plan.options.outputs;
  if (plan.options.loss > Seconds())
    held.buckets += Bytes(others * step.software.memory_use.logit_bytes *
                          static_cast<double>(step.step.shape.tokens() * step.model.vocab));
  return held;
}

// Workers have no optimizer.
HeldStates held_by(const ServerPlan&, const HeldOf& of) {
  auto state = of.step.state;
  state.optimizer = state.step_copy = 0;
  return {.state = state};
}

}  // namespace

HeldStates held_by(const StrategyPlan& plan, const HeldOf& of) {
  return std::visit([&](const auto& one) { return held_by(one, of); }, plan);
}

HeldStates Scenario::held_states() const {
  HeldOf of{*trace, *model_step, ddp.gradient_as_bucket_view, plan.accumulation_steps,
            static_cast<double>(model_step->model.block_parameters())};
  return strategy_plan ? held_by(*strategy_plan, of) : held_by(plan, of);
}

}  // namespace ddpsim
