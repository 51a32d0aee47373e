#pragma once
// An iteration in which compute and communication slow one another down, compute does more than the model
// itself, or several collectives are in flight at once. Event by event: rates change whenever somebody starts
// or ends.
#include "sim/engine/uncontended_iteration.hpp"

namespace ddpsim {

// As add_group().
void add_coupled_group(Timeline& timeline, const Scenario& scenario, const GroupCollectives& collectives);

}  // namespace ddpsim
