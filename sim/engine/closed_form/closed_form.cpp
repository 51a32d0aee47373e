#include "sim/engine/closed_form/closed_form.hpp"

#include <algorithm>
#include <functional>

#include "sim/base/check.hpp"
#include "sim/collective/time_alone.hpp"
#include "sim/engine/iteration.hpp"

namespace ddpsim {

namespace {

std::vector<Interval> in_flight(const std::vector<CollectiveRequest>& requests,
                                const std::function<Seconds(Bytes)>& time) {
  std::vector<Interval> intervals;
  Seconds free = requests.front().launch;
  for (const auto& request : requests) {
    Seconds start = std::max(request.launch, free);
    free = start + time(request.bytes);
    intervals.push_back({start, free});
  }
  return intervals;
}

}  // namespace

Timeline ClosedFormSimulator::run(const Scenario& scenario) {
  Timeline timeline;
  if (scenario.measured_cost) {
    auto requests = collective_requests(scenario, 0);
    add_group(timeline, scenario, {0}, requests, in_flight(requests, *scenario.measured_cost));
    return timeline;
  }
  const auto& plan = scenario.communication->folded;
  DDPSIM_CHECK(!plan.is_contended(), "the closed form knows no contention");
  for (const auto& group : plan.groups) {
    auto requests = collective_requests(scenario, group.members.front());
    add_group(timeline, scenario, group.members, requests,
              in_flight(requests, CollectiveTime(group.plan, plan.links)));
  }
  return timeline;
}

}  // namespace ddpsim
