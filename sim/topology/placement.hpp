#pragma once
// Which GPU each rank runs on.
#include <cstdint>
#include <set>
#include <vector>

#include "sim/topology/cluster.hpp"

namespace ddpsim {

// packed: ranks in the GPUs' order. round_robin: rank r on node r % nodes, filling each node's GPUs in order.
// random: a permutation of the GPUs drawn from the seed. random_nodes: the nodes are drawn from the
// cluster's, ascending, and ranks packed on them.
enum class PlacementKind { packed, round_robin, random, random_nodes };

struct Placement {
  PlacementKind kind = PlacementKind::packed;
  std::uint64_t seed = 0;  // of random and random_nodes
};

// Entry r is rank r's GPU. But for random_nodes the job has the first nodes that are not `broken`, as many as
// it needs: without broken ones every GPU from 0 to world_size - 1 once. Throws InputError (without a place)
// where the sound nodes have too few GPUs.
std::vector<int> place_ranks(const Placement& placement, const Cluster& cluster, int world_size,
                             const std::set<int>& broken = {});

}  // namespace ddpsim
