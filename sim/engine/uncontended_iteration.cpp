#include "sim/engine/uncontended_iteration.hpp"

#include <algorithm>

#include "sim/base/check.hpp"
#include "sim/engine/coupled_iteration.hpp"

namespace ddpsim {
namespace {

// One after the other, in launch order.
std::vector<Interval> in_flight(const std::vector<CollectiveRequest>& requests,
                                const std::vector<CollectiveDuration>& durations) {
  std::vector<Interval> intervals;
  Seconds free = requests.front().launch;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    Seconds start = std::max(requests[i].launch, free);
    free = start + (requests[i].launch < free ? durations[i].queued : durations[i].idle);
    intervals.push_back({start, free});
  }
  return intervals;
}

}  // namespace

Timeline iterate(const Scenario& scenario, const std::vector<GroupCollectives>& groups) {
  Timeline timeline;
  for (const auto& group : groups) {
    DDPSIM_CHECK(group.durations.size() == group.requests.size(), "one duration a collective");
    if (!scenario.is_plain()) {
      add_coupled_group(timeline, scenario, group);
      continue;
    }
    auto requests = group.requests;
    set_launch_times(scenario, group.members.front(), requests);
    add_group(timeline, scenario, group.members, requests, in_flight(requests, group.durations));
  }
  return timeline;
}

}  // namespace ddpsim
