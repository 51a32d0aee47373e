#include "sim/engine/closed_form/closed_form.hpp"

#include <algorithm>
#include <functional>

#include "sim/base/check.hpp"
#include "sim/collective/time_alone.hpp"
#include "sim/engine/iteration.hpp"

namespace ddpsim {

namespace {

std::vector<Interval> in_flight(const std::vector<CollectiveRequest>& requests,
                                const std::function<Seconds(const CollectiveRequest&)>& time) {
  std::vector<Interval> intervals;
  Seconds free = requests.front().launch;
  for (const auto& request : requests) {
    Seconds start = std::max(request.launch, free);
    free = start + time(request);
    intervals.push_back({start, free});
  }
  return intervals;
}

// The scenario's only group, each all-reduce as long as `time` says.
Timeline one_group(const Scenario& scenario, const std::function<Seconds(const CollectiveRequest&)>& time) {
  Timeline timeline;
  auto requests = collective_requests(scenario, 0);
  add_group(timeline, scenario, {0}, requests, in_flight(requests, time));
  return timeline;
}

}  // namespace

Timeline ClosedFormSimulator::run(const Scenario& scenario) {
  if (scenario.measured_cost)
    return one_group(scenario, [&](const auto& request) { return (*scenario.measured_cost)(request.bytes); });
  if (scenario.communication->is_settled())
    return one_group(scenario, [](const auto& request) { return request.nccl->time; });
  const auto& plan = *scenario.communication->folded;
  DDPSIM_CHECK(!plan.is_contended(), "the closed form knows no contention");
  Timeline timeline;
  for (const auto& group : plan.groups) {
    auto requests = collective_requests(scenario, group.members.front());
    CollectiveTime alone(group.plan, plan.links);
    add_group(timeline, scenario, group.members, requests, in_flight(requests, [&](const auto& request) {
                return request.nccl ? request.nccl->time : alone(request.bytes);
              }));
  }
  return timeline;
}

}  // namespace ddpsim
