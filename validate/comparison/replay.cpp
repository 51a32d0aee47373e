#include "validate/comparison/replay.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include "sim/base/source.hpp"
#include "sim/program/data_parallel.hpp"

namespace ddpsim::validate {
void check_can_be_real(const Scenario& scenario) {
  if (scenario.sampled)
    throw InputError("real ranks vary as they do, not by random numbers",
                     "remove 'variability', or compare with measured iterations (--measured FILE)");
  if (scenario.ddp.iteration != DdpIteration::steady)
    throw InputError("a real run measures steady iterations, not the first ones", "remove ddp.iteration");
  if (scenario.plan.comm_hook != CommHook::none)
    throw InputError("a real run has no communication hook", "remove ddp.comm_hook");
  if (scenario.plan.compiled_graph) throw InputError("a real run compiles no graph", "remove ddp.compiled");
  if (scenario.plan.process_groups > 1)
    throw InputError("a real run has one process group", "remove ddp.process_groups");
  if (!scenario.plan.buffer_broadcasts.empty())
    throw InputError("a real run broadcasts no buffers", "write ddp.broadcast_buffers: false");
  if (scenario.plan.used_parameter_bitmap || !scenario.plan.unused.empty())
    throw InputError("a real run has no unused parameters",
                     "remove ddp.find_unused_parameters and workload.unused_parameters");
}

Step replay_step(const Scenario& scenario, const std::string& name, const Sampling& sampling) {
  Step step{name, {}, {}, sampling, true};
  step.program = data_parallel_program(*scenario.trace, scenario.plan, {}).program;
  std::size_t first = 0;
  for (const auto& op : step.program.ops) {
    if (op.kind != Op::Kind::collective) continue;
    auto count = static_cast<std::size_t>(std::ceil(op.bytes.value() / 4));
    step.ranges.push_back({first, count});
    first += count;
  }
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
  return largest_slowdown(scenario.groups) * compute_before_last_backward(*scenario.trace, scenario.plan);
}

}  // namespace ddpsim::validate
