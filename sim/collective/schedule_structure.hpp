#pragma once
// Whether a schedule's rings, inputs and parts make sense before anything is executed.
#include <optional>
#include <string>
#include <vector>

#include "sim/collective/schedule.hpp"

namespace ddpsim {

// Whether its ranks exchange messages round by round.
bool is_in_rounds(const CollectiveSchedule& schedule);

// What is wrong first: "stage 0, channel 1: edge 2 does not lead into the next".
std::optional<std::string> find_structure_error(const CollectiveSchedule& schedule);

// A pipeline's edges, each after its inputs. Fewer than there are where some wait for each other.
std::vector<int> delivery_order(const Channel& pipeline);

// "rank 3", or "switch 0" for a vertex beyond the ranks.
std::string vertex_name(const CollectiveSchedule& schedule, int vertex);

}  // namespace ddpsim
