#include "sim/program/parameter_server.hpp"

#include <numeric>

#include "sim/program/step_builder.hpp"

namespace ddpsim {
namespace {

constexpr std::size_t kPush = 0, kPull = 1, kRound = 2;  // communicators

// The part of a key that each server has.
Seconds update_time(const Gradient& gradient, const ServerOptions& options) {
  return Seconds(static_cast<double>(gradient.elements) / options.servers / options.update_rate);
}

}  // namespace

ReductionPlan reduction_plan(const LayerTrace& trace, const ServerPlan&, int accumulation_steps) {
  ReductionPlan result;
  result.strategy = Strategy::parameter_server;
  result.accumulation_steps = accumulation_steps;
  auto order = std::make_shared<std::vector<std::size_t>>(trace.gradients.size());
  std::iota(order->begin(), order->end(), 0);
  for (const auto& gradient : *order)
    result.buckets.push_back(
        {{&gradient, 1}, trace.gradients[gradient].bytes(), trace.gradients[gradient].dtype});
  result.order = std::move(order);
  return result;
}

StepProgram step_program(const LayerTrace& trace, const ServerPlan& plan, int accumulation_steps,
                         const Overheads& overheads) {
  bool has_round = !plan.options.synchronous;
  StepBuilder step(trace.gradients.size(), overheads, has_round ? 3 : 2);
  std::vector<std::size_t> last;
  if (has_round)
    last.push_back(step.collective(kRound, Activity::serve, Operation::reduce, 0, Bytes(), {}, plan.round));
  for (int i = 0; i < accumulation_steps; ++i) {
    auto index = static_cast<std::size_t>(i);
    step.compute(Activity::forward, index, trace.forward.value_or(Seconds()));
    if (i + 1 < accumulation_steps) {
      step.compute(Activity::backward, index, trace.backward());
      continue;
    }
    step.start_last_backward();
    Seconds now;
    for (std::size_t g = 0; g < trace.gradients.size(); ++g) {
      const auto& gradient = trace.gradients[g];
      if (gradient.ready > now) step.compute(Activity::backward, index, gradient.ready - now);
      now = gradient.ready;
      step.set_ready(g);
      auto push = step.collective(kPush, Activity::push, Operation::reduce, g, gradient.bytes(),
                                  {*step.last_compute()});
      last.push_back(step.collective(kPull, Activity::pull, Operation::broadcast, g, gradient.bytes(), {push},
                                     update_time(gradient, plan.options)));
    }
  }
  for (auto op : last) step.wait(op);
  step.compute(Activity::optimizer, 0, {});
  return step.take();
}

}  // namespace ddpsim
