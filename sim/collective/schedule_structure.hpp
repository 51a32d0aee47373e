#pragma once
// Whether a schedule's rings, inputs and parts make sense before anything is executed.
#include <optional>
#include <string>
#include <vector>

#include "sim/collective/schedule.hpp"

namespace ddpsim {

// Whether ranks only send pieces of their own, so that the structure of a schedule proves it right.
inline bool is_exchange(Operation operation) {
  return sends_directly(operation) && is_in_parts(operation);
}

// What is wrong first: "stage 0, channel 1: edge 2 does not lead into the next".
std::optional<std::string> find_structure_error(const CollectiveSchedule& schedule);

// A pipeline's edges, each after its inputs. Fewer than there are where some wait for each other.
std::vector<int> delivery_order(const Channel& pipeline);

// "rank 3", or "switch 0" for a vertex beyond the ranks.
std::string vertex_name(const CollectiveSchedule& schedule, int vertex);

}  // namespace ddpsim
