#include "sim/engine/closed_form/closed_form.hpp"

#include <algorithm>
#include <functional>
#include <optional>

#include "sim/base/check.hpp"
#include "sim/collective/time_alone.hpp"
#include "sim/engine/coupled_iteration.hpp"

namespace ddpsim {

namespace {

// How long a collective is in flight. `is_queued`: it had to wait for the one before it.
using CollectiveDuration = std::function<Seconds(const CollectiveRequest& request, bool is_queued)>;

std::vector<Interval> in_flight(const std::vector<CollectiveRequest>& requests,
                                const CollectiveDuration& time) {
  std::vector<Interval> intervals;
  Seconds free = requests.front().launch;
  for (const auto& request : requests) {
    Seconds start = std::max(request.launch, free);
    free = start + time(request, request.launch < free);
    intervals.push_back({start, free});
  }
  return intervals;
}

void add_ranks(Timeline& timeline, const Scenario& scenario, const std::vector<std::size_t>& members,
               const std::vector<CollectiveRequest>& requests, const CollectiveDuration& time) {
  if (scenario.physics.is_off())
    return add_group(timeline, scenario, members, requests, in_flight(requests, time));
  add_coupled_group(timeline, scenario, members, requests,
                    [&](std::size_t index, bool is_queued) { return time(requests[index], is_queued); });
}

// The scenario's only group, each all-reduce as long as `time` says.
Timeline one_group(const Scenario& scenario, const CollectiveDuration& time) {
  Timeline timeline;
  add_ranks(timeline, scenario, {0}, collective_requests(scenario, 0), time);
  return timeline;
}

}  // namespace

Timeline ClosedFormSimulator::run(const Scenario& scenario) {
  if (scenario.measured_table)
    return one_group(scenario, [&](const auto& request, bool is_queued) {
      return scenario.measured_table->time(request.bytes, is_queued);
    });
  if (scenario.communication->is_settled())
    return one_group(scenario, [](const auto& request, bool) { return request.nccl->time; });
  const auto& communication = *scenario.communication;
  const auto& plan = *communication.folded;
  DDPSIM_CHECK(!plan.is_contended(), "the closed form knows no contention");
  Timeline timeline;
  for (std::size_t g = 0; g < plan.groups.size(); ++g) {
    const auto& group = plan.groups[g];
    auto requests = collective_requests(scenario, group.members.front());
    // Groups that are always in step may share links: together they take longer than one of them alone.
    CollectiveTime together(group.plan, plan.links);
    std::optional<CollectiveTime> alone;
    if (!communication.alone.empty())
      alone.emplace(communication.alone[g].groups.front().plan, communication.alone[g].links);
    auto time = [&](const CollectiveRequest& request, bool) {
      if (!request.nccl) return together(request.bytes);
      Seconds wait = request.nccl->time - alone->of_stage(request.nccl->stage, request.bytes);
      return std::max(Seconds(0), wait) + together.of_stage(request.nccl->stage, request.bytes);
    };
    add_ranks(timeline, scenario, group.members, requests, time);
  }
  return timeline;
}

}  // namespace ddpsim
