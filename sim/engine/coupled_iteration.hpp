#pragma once
// An iteration in which compute and communication slow one another down, and compute does more than the model
// itself. Event by event: rates change whenever somebody starts or ends.
#include <functional>
#include <vector>

#include "sim/engine/iteration.hpp"

namespace ddpsim {

// How long the collective of request `index` takes with no compute beside it. `is_queued`: it had to wait for
// the one before it.
using DurationAlone = std::function<Seconds(std::size_t index, bool is_queued)>;

// As add_group(), for a group whose links nobody else uses. `requests` are those of collective_requests();
// their launch times are the plain model's and do not count.
void add_coupled_group(Timeline& timeline, const Scenario& scenario, const std::vector<std::size_t>& members,
                       const std::vector<CollectiveRequest>& requests, const DurationAlone& alone);

}  // namespace ddpsim
