#pragma once
// What ranks hold of a model under sharded strategies.
#include "sim/compute/model_step.hpp"
#include "sim/program/strategy_plan.hpp"

namespace ddpsim {

// `block_parameters`: elements of a block, of those that the trace has.
HeldStates held_by(const FsdpPlan& plan, const LayerTrace& trace, int accumulation_steps,
                   double block_parameters);
HeldStates held_by(const ZeroPlan& plan, const Optimizer& optimizer);
HeldStates held_by(const Zero3Plan& plan, const Optimizer& optimizer);

}  // namespace ddpsim
