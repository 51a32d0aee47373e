#pragma once
// Which GPU each rank runs on.
#include <cstdint>
#include <vector>

#include "sim/topology/cluster.hpp"

namespace ddpsim {

// packed: rank r on GPU r. round_robin: rank r on node r % nodes, filling each node's GPUs in order. random:
// a permutation drawn from the seed.
enum class PlacementKind { packed, round_robin, random };

struct Placement {
  PlacementKind kind = PlacementKind::packed;
  std::uint64_t seed = 0;  // of random
};

// Entry r is rank r's GPU; every GPU from 0 to world_size - 1 once.
std::vector<int> place_ranks(const Placement& placement, const Cluster& cluster, int world_size);

}  // namespace ddpsim
