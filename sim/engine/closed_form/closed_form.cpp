#include "sim/engine/closed_form/closed_form.hpp"

#include <algorithm>
#include <functional>
#include <optional>

#include "sim/base/check.hpp"
#include "sim/collective/time_alone.hpp"

namespace ddpsim {
namespace {

using DurationOf = std::function<CollectiveDuration(const CollectiveRequest&)>;

GroupCollectives collectives_of(const Scenario& scenario, std::vector<std::size_t> members,
                                const DurationOf& duration_of) {
  GroupCollectives group{std::move(members), {}, {}, {}};
  group.requests = collective_requests(scenario, group.members.front());
  for (const auto& request : group.requests) group.durations.push_back(duration_of(request));
  if (scenario.collective_workers > 1) {
    auto smallest = group.requests.front();
    smallest.bytes = Bytes(1);
    group.latency = duration_of(smallest).queued;
  }
  return group;
}

CollectiveDuration either_way(Seconds time) {
  return {time, time};
}

}  // namespace

// What each group's collectives take, each size found out once.
struct ClosedFormSimulator::Costs {
  struct Group {
    // Groups that are always in step may share links, and then take longer than one alone.
    CollectiveTime together;
    std::optional<CollectiveTime> alone;  // of NCCL's traffic

    CollectiveDuration operator()(const CollectiveRequest& request) {
      if (!request.nccl) return either_way(together(request.bytes));
      Seconds wait = request.nccl->time - alone->of_stage(request.nccl->stage, request.bytes);
      return either_way(std::max(Seconds(0), wait) + together.of_stage(request.nccl->stage, request.bytes));
    }
  };

  explicit Costs(std::shared_ptr<const Communication> of) : communication(std::move(of)) {
    const auto& plan = *communication->folded;
    DDPSIM_CHECK(!plan.is_contended(), "the closed form knows no contention");
    for (std::size_t g = 0; g < plan.groups.size(); ++g) {
      auto& costs = groups.emplace_back(Group{{plan.groups[g].plan, plan.links}, std::nullopt});
      if (communication->alone.empty()) continue;
      const auto& alone = communication->alone[g];
      costs.alone.emplace(alone.groups.front().plan, alone.links);
    }
  }

  std::shared_ptr<const Communication> communication;
  std::vector<Group> groups;
};

ClosedFormSimulator::ClosedFormSimulator() = default;
ClosedFormSimulator::~ClosedFormSimulator() = default;

Timeline ClosedFormSimulator::run(const Scenario& scenario) {
  return iterate(scenario, collectives(scenario));
}

std::vector<GroupCollectives> ClosedFormSimulator::collectives(const Scenario& scenario) {
  if (const auto* table = scenario.measured_table.get())
    return {collectives_of(scenario, {0}, [&](const auto& request) -> CollectiveDuration {
      return {table->time(request.bytes, false), table->time(request.bytes, true)};
    })};
  const auto& communication = *scenario.communication;
  if (const auto* gloo = communication.gloo.get())
    return {collectives_of(scenario, {0},
                           [&](const auto& request) { return either_way(gloo->time(request.bytes)); })};
  if (communication.is_settled())
    return {
        collectives_of(scenario, {0}, [](const auto& request) { return either_way(request.nccl->time); })};
  if (!costs_ || costs_->communication != scenario.communication)
    costs_ = std::make_unique<Costs>(scenario.communication);
  std::vector<GroupCollectives> groups;
  for (std::size_t g = 0; g < costs_->groups.size(); ++g)
    groups.push_back(
        collectives_of(scenario, communication.folded->groups[g].members, std::ref(costs_->groups[g])));
  return groups;
}

}  // namespace ddpsim
