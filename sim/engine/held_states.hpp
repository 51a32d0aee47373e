#pragma once
// What ranks hold of a model, by the plan of their strategy.
#include "sim/compute/model_step.hpp"
#include "sim/program/strategy_plan.hpp"

namespace ddpsim {

// Whose step it is, as one GPU has it.
struct HeldOf {
  const LayerTrace& trace;
  const ModelStep& step;
  bool gradients_are_views = false;  // of DistributedDataParallel's buckets
  int accumulation_steps = 1;
  double block_parameters = 0;  // elements of a block, of those that the trace has
};
HeldStates held_by(const StrategyPlan& plan, const HeldOf& of);

}  // namespace ddpsim
