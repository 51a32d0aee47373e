#include "sim/program/sharded_plan.hpp"

namespace ddpsim {

ReductionPlan reduction_plan(const LayerTrace& trace, const ShardedPlan& plan, int accumulation_steps) {
  return std::visit([&](const auto& one) { return reduction_plan(trace, one, accumulation_steps); }, plan);
}

std::vector<Bytes> gathered(const ShardedPlan& plan) {
  return std::visit([](const auto& one) { return gathered(one); }, plan);
}

StepProgram step_program(const LayerTrace& trace, const ShardedPlan& plan, int accumulation_steps, int ranks,
                         const Overheads& overheads) {
  return std::visit(
      [&](const auto& one) { return step_program(trace, one, accumulation_steps, ranks, overheads); }, plan);
}

}  // namespace ddpsim
