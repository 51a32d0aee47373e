#pragma once
// Folding: among everything that uses a cluster's links, edges that behave alike are carried out once.
//
// Two edges are alike when they have the same latency, run over links of the same capacity whose users are
// alike (all users: other channels, other groups, background traffic, as many of each), in channels that are
// alike, at the same level of a pipeline. The coarsest such partition is found by refining colours until
// nothing changes (Berkholz, Bonsma and Grohe, "Tight lower and upper bounds for the complexity of canonical
// colour refinement", 2017). All edges of a colour then have the same rate at all times under max-min
// sharing. A folded ring advances in rounds: all its colours wait for one another after each step.
#include <functional>
#include <vector>

#include "sim/collective/flow_plan.hpp"

namespace ddpsim {

// Everything that uses the links: groups of ranks with their collectives, and background flows.
struct Traffic {
  struct Group {
    const CollectiveSchedule* schedule = nullptr;
    int label = 0;  // groups of one label launch the same collectives at the same times
  };
  std::vector<Group> groups;
  std::vector<std::vector<int>> background;  // the links of each flow
  std::function<BytesPerSecond(int link)> capacity;
};

// The same traffic as executors carry it out.
struct TrafficPlan {
  struct Group {
    std::vector<std::size_t> members;  // the groups that all do this at the same times, ascending
    FlowPlan plan;
  };
  std::vector<BytesPerSecond> links;  // capacities, by the link ids of the plans
  std::vector<Group> groups;
  std::vector<std::vector<int>> background;  // routes
  // Whether two groups, or a group and background traffic, use the same link.
  [[nodiscard]] bool is_contended() const;
};

// One flow for all edges alike, one link for all links alike; links that can never be a bottleneck are left
// out.
TrafficPlan fold(const Traffic& traffic);
// Every edge a flow, every link itself.
TrafficPlan unfold(const Traffic& traffic);

}  // namespace ddpsim
