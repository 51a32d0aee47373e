#pragma once
// One iteration of a scenario, replayed. Times count from the start of the last backward pass of the slowest
// rank class, had its group no offset (what comes before lies before zero).
#include <cstdint>
#include <memory>
#include <vector>

#include "sim/cost/collective_cost.hpp"
#include "sim/engine/scenario.hpp"
#include "sim/timeline/timeline.hpp"

namespace ddpsim {

// What a scenario's collectives cost, for this and all others with the same communication.
std::vector<GroupCost> costs_of(const Scenario& scenario);

struct ReplayedIteration {
  Timeline timeline;
  std::int64_t simulated_flows = 0;
};

// Uses up a process where SimGrid carries the flows (Scenario::uses_up_process).
ReplayedIteration replay_iteration(const Scenario& scenario, std::span<const GroupCost> costs);

}  // namespace ddpsim
