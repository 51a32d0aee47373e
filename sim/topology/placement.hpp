#pragma once
// Which GPU each rank runs on.
#include <cstdint>
#include <limits>
#include <set>
#include <vector>

#include "sim/topology/cluster.hpp"

namespace ddpsim {

// How many GPUs of each rack a job takes: all. Of racks that a job of several does not fill a power of two,
// as jobs on racks of 72 take 64 of each; all again where that would take more GPUs than there may be.
int usual_domain_gpus(int world_size, int of_rack);
// The GPUs of the nodes that a job needs which takes so many of each; of whole nodes those of the job alone.
int gpus_of_nodes(int world_size, int taken, int of_node);

// packed: ranks in the GPUs' order. round_robin: rank r on node r % nodes, filling each node's GPUs in order.
// random: a permutation of the GPUs drawn from the seed. random_nodes: the nodes are drawn from the
// cluster's, ascending, and ranks packed on them.
enum class PlacementKind { packed, round_robin, random, random_nodes };

struct Placement {
  PlacementKind kind = PlacementKind::packed;
  std::uint64_t seed = 0;                         // of random and random_nodes
  int of_node = std::numeric_limits<int>::max();  // the job takes the first so many GPUs of each node
  bool operator==(const Placement&) const = default;
};

// Entry r is rank r's GPU. But for random_nodes the job has the first nodes that are not `broken`, as many as
// it needs: without broken ones, and of whole nodes, every GPU from 0 to world_size - 1 once. Throws
// InputError (without a place) where the sound nodes have too few GPUs.
std::vector<int> place_ranks(const Placement& placement, const Cluster& cluster, int world_size,
                             const std::set<int>& broken = {});

}  // namespace ddpsim
