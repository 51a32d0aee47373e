#include "sim/engine/messages.hpp"

#include "sim/engine/scenario.hpp"

namespace ddpsim {

std::vector<Message> messages_of(const Scenario& scenario) {
  const auto& plan = scenario.plan;
  std::vector<Message> messages;
  if (scenario.strategy_plan) {
    for (const auto& step : scenario.strategy_plan->programs(*scenario.trace, plan.accumulation_steps, {}))
      for (const auto& op : step.program.ops)
        if (op.kind == Op::Kind::collective) messages.push_back({op.operation, op.bytes});
    return messages;
  }
  for (auto bytes : all_reduces_of(plan)) messages.push_back({Operation::all_reduce, bytes});
  if (plan.used_parameter_bitmap) messages.push_back({Operation::all_reduce, *plan.used_parameter_bitmap});
  for (auto bytes : plan.buffer_broadcasts) messages.push_back({Operation::broadcast, bytes});
  return messages;
}

}  // namespace ddpsim
