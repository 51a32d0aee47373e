#pragma once
// The plan of a strategy that shards what a rank holds: one of several, and what is asked of all of them.
#include <variant>

#include "sim/program/fsdp.hpp"
#include "sim/program/megatron.hpp"
#include "sim/program/zero3.hpp"

namespace ddpsim {

using ShardedPlan = std::variant<FsdpPlan, ZeroPlan, Zero3Plan, MegatronPlan>;

// What is reduced, as other strategies have it, in launch order.
ReductionPlan reduction_plan(const LayerTrace& trace, const ShardedPlan& plan, int accumulation_steps);

StepProgram step_program(const LayerTrace& trace, const ShardedPlan& plan, int accumulation_steps,
                         const Overheads& overheads);

}  // namespace ddpsim
