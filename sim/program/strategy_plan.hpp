#pragma once
// The plan of a strategy whose step is none of DistributedDataParallel: one of several, and what is asked of
// all of them.
#include <variant>

#include "sim/program/fsdp.hpp"
#include "sim/program/megatron.hpp"
#include "sim/program/parameter_server.hpp"
#include "sim/program/single_process.hpp"
#include "sim/program/zero3.hpp"

namespace ddpsim {

using StrategyPlan = std::variant<FsdpPlan, ZeroPlan, Zero3Plan, MegatronPlan, SingleProcessPlan, ServerPlan>;

// What is reduced, as other strategies have it, in launch order.
ReductionPlan reduction_plan(const LayerTrace& trace, const StrategyPlan& plan, int accumulation_steps);

StepProgram step_program(const LayerTrace& trace, const StrategyPlan& plan, int accumulation_steps,
                         const Overheads& overheads);

}  // namespace ddpsim
