#pragma once
// What NCCL's tuner sees of a group of GPUs on a cluster.
#include <span>
#include <vector>

#include "sim/topology/cluster.hpp"
#include "sim/topology/nccl_platform.hpp"

namespace ddpsim {

// The rings of find_rings, with links counted as NCCL counts them: NVLink at nvlink_share of what the
// topology says (its data-sheet figure), everything else as it is. Throws InputError (without a place) when
// there is no ring. `of_node`: GPUs of a node that the communicator has, of which these only some use it; 0:
// no others. How many there are decides over peer-to-peer.
nccl::Communicator nccl_communicator(const Cluster& cluster, std::span<const int> gpus,
                                     const NcclPlatform& platform, int of_node = 0);

// The ring that NCCL falls back to where its search finds none (nccl::simple_order): node by node, by the
// GPUs' numbers. Entries index into `gpus`.
std::vector<int> simple_ring_order(const Cluster& cluster, std::span<const int> gpus);

}  // namespace ddpsim
