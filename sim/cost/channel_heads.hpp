#pragma once
// Which GPUs of a node head the channels of NCCL's trees and of NVLSTree, where some NICs are slower.
#include <span>
#include <vector>

#include "sim/topology/cluster.hpp"

namespace ddpsim {

// Local positions, ascending, of so many GPUs that they times the slowest share of a NIC is most, as NCCL's
// search weighs channels and their speed (src/graph/search.cc: ncclTopoCompareGraphs). Empty: all, or nodes
// of different sizes, of which nothing is said. `nodes`: ranks by node, `gpus`: by rank.
std::vector<int> channel_heads(const Cluster& cluster, std::span<const int> gpus,
                               const std::vector<std::vector<int>>& nodes);

}  // namespace ddpsim
