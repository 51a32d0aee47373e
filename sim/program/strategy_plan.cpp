#include "sim/program/strategy_plan.hpp"

namespace ddpsim {

ReductionPlan reduction_plan(const LayerTrace& trace, const StrategyPlan& plan, int accumulation_steps) {
  return std::visit([&](const auto& one) { return reduction_plan(trace, one, accumulation_steps); }, plan);
}

StepProgram step_program(const LayerTrace& trace, const StrategyPlan& plan, int accumulation_steps,
                         const Overheads& overheads) {
  return std::visit([&](const auto& one) { return step_program(trace, one, accumulation_steps, overheads); },
                    plan);
}

}  // namespace ddpsim
