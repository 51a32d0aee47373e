#include "validate/comparison/replay.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "sim/base/check.hpp"
#include "sim/base/source.hpp"

namespace ddpsim::validate {
namespace {

Action compute(Seconds duration) {
  return {Action::Kind::compute, duration, {}};
}

// Before the last backward pass, on a rank that is no straggler.
Seconds before_backward(const Scenario& scenario) {
  double steps = scenario.plan.accumulation_steps;
  return steps * scenario.trace->forward.value_or(Seconds(0)) + (steps - 1) * scenario.trace->backward();
}

}  // namespace

void check_can_be_real(const Scenario& scenario) {
  if (scenario.sampled)
    throw InputError("real ranks vary as they do, not by random numbers",
                     "remove 'variability', or compare with measured iterations (--measured FILE)");
  if (scenario.ddp.iteration != DdpIteration::steady)
    throw InputError("a real run measures steady iterations, not the first ones", "remove ddp.iteration");
  if (scenario.plan.comm_hook != CommHook::none)
    throw InputError("a real run has no communication hook", "remove ddp.comm_hook");
  if (!scenario.plan.buffer_broadcasts.empty())
    throw InputError("a real run broadcasts no buffers", "write ddp.broadcast_buffers: false");
  if (scenario.plan.used_parameter_bitmap || !scenario.plan.unused.empty())
    throw InputError("a real run has no unused parameters",
                     "remove ddp.find_unused_parameters and workload.unused_parameters");
}

Step replay_step(const Scenario& scenario, const std::string& name, const Sampling& sampling) {
  const auto& trace = *scenario.trace;
  auto launches = bucket_launch_times(trace, scenario.plan);
  DDPSIM_CHECK(launches.size() == scenario.plan.buckets.size(), "one launch a bucket");
  Step step{name, {compute(before_backward(scenario))}, sampling, true};
  Seconds computed;
  std::size_t first = 0;
  for (std::size_t i = 0; i < launches.size(); ++i) {
    if (launches[i] > computed) step.actions.push_back(compute(launches[i] - computed));
    computed = std::max(computed, launches[i]);
    auto count = static_cast<std::size_t>(std::ceil(scenario.plan.buckets[i].bytes.value() / 4));
    step.actions.push_back({Action::Kind::all_reduce, {}, {first, count}});
    first += count;
  }
  if (trace.backward() > computed) step.actions.push_back(compute(trace.backward() - computed));
  step.actions.push_back({Action::Kind::wait, {}, {}});
  step.actions.push_back(compute(trace.optimizer.value_or(Seconds(0))));
  return step;
}

std::map<int, double> slowdowns_of(const Scenario& scenario) {
  std::map<int, double> slowdowns;
  std::set<int> taken;
  for (const auto& one : scenario.groups.front().rank_classes) taken.insert(one.rank);
  for (const auto& one : scenario.groups.front().rank_classes) {
    if (one.slowdown == 1) continue;
    slowdowns[one.rank] = one.slowdown;
    int next = 0;
    for (int more = 1; more < one.ranks; ++more) {
      while (!taken.insert(next).second) ++next;
      slowdowns[next] = one.slowdown;
    }
  }
  return slowdowns;
}

Seconds backward_start(const Scenario& scenario) {
  return scenario.largest_slowdown() * before_backward(scenario);
}

}  // namespace ddpsim::validate
