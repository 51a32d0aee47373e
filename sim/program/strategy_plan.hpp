#pragma once
// The plan of a strategy: one of several, and what is asked of all of them.
#include <variant>

#include "sim/program/data_parallel.hpp"
#include "sim/program/fsdp.hpp"
#include "sim/program/megatron.hpp"
#include "sim/program/parameter_server.hpp"
#include "sim/program/single_process.hpp"
#include "sim/program/zero3.hpp"

namespace ddpsim {

// ReductionPlan: naive, flat, overlap and ddp.
using StrategyPlan =
    std::variant<ReductionPlan, FsdpPlan, ZeroPlan, Zero3Plan, MegatronPlan, SingleProcessPlan, ServerPlan>;

inline ReductionPlan reduction_plan(const LayerTrace&, const ReductionPlan& plan, int) {
  return plan;
}
inline StepProgram step_program(const LayerTrace& trace, const ReductionPlan& plan, int,
                                const Overheads& overheads) {
  return data_parallel_program(trace, plan, overheads);
}

// What is reduced, as other strategies have it, in launch order.
ReductionPlan reduction_plan(const LayerTrace& trace, const StrategyPlan& plan, int accumulation_steps);

StepProgram step_program(const LayerTrace& trace, const StrategyPlan& plan, int accumulation_steps,
                         const Overheads& overheads);

}  // namespace ddpsim
