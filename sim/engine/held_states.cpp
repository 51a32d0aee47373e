// What each strategy's ranks hold of a model: Scenario::held_states.
#include <algorithm>
#include <numeric>

#include "sim/engine/scenario.hpp"

namespace ddpsim {
namespace {

HeldStates held_by(const FsdpPlan& plan, const Scenario& scenario, int shards) {
  HeldStates held{Sharding::weights, shards};
  if (!plan.options.reshard_after_forward) {
    auto all = gathered(plan);
    held.buckets += std::accumulate(all.begin(), all.end(), Bytes());
  }
  // Without a reduction after each micro-batch whole gradients wait for the last one.
  if (!plan.options.reduce_every_micro_batch && scenario.plan.accumulation_steps > 1)
    held.buckets += scenario.trace->bytes();
  for (std::size_t unit = 1; unit < plan.units.size(); ++unit)
    held.unit_layers =
        std::max(held.unit_layers, static_cast<double>(plan.units[unit].elements) /
                                       static_cast<double>(scenario.model_step->model.block_parameters()));
  return held;
}

}  // namespace

HeldStates Scenario::held_states() const {
  if (sharded) {
    int shards = groups.empty() ? world_size : groups.front().ranks;
    return std::visit([&](const auto& one) { return held_by(one, *this, shards); }, *sharded);
  }
  // DistributedDataParallel keeps its buckets beside the gradients, unless those are views of them
  // (reducer.cpp); a flat buffer does the same.
  bool has_buckets =
      plan.strategy == Strategy::flat || (plan.strategy == Strategy::ddp && !ddp.gradient_as_bucket_view);
  return {.buckets = has_buckets ? trace->bytes() : Bytes()};
}

}  // namespace ddpsim
