#pragma once
// Which groups of GPUs are alike: what is found out about the links of one holds for the other.
#include <optional>
#include <span>
#include <vector>

#include "sim/topology/cluster.hpp"

namespace ddpsim {

// Where the ranks of a group are, without saying on which nodes: groups of one shape have routes of the same
// figures between the same ranks, and ranks share links where those of the other do. None: it spans nodes
// whose routes are each their own (Cluster::switches_above).
std::optional<std::vector<int>> group_shape(const Cluster& cluster, std::span<const int> gpus);

}  // namespace ddpsim
