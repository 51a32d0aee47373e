#pragma once
// Iterations of groups whose links nobody else uses: how long each collective takes by itself is all there is
// to know of the network.
#include <cstddef>
#include <vector>

#include "sim/cost/collective_cost.hpp"
#include "sim/engine/iteration.hpp"

namespace ddpsim {

// Groups that behave alike (`members`, ascending), what they ask for (collective_requests()), and how long
// each request is in flight with no compute beside it.
struct GroupCollectives {
  std::vector<std::size_t> members;
  std::vector<CollectiveRequest> requests;
  std::vector<CollectiveDuration> durations;  // one a request
  Seconds latency = {};                       // of nearly nothing; counts where several are in flight at once
};

// With the scenario's physics, and ranks as slow as it says now: the requests' launch times do not count.
Timeline iterate(const Scenario& scenario, const std::vector<GroupCollectives>& groups);

}  // namespace ddpsim
