#pragma once
// What NCCL's tuner sees of a group of GPUs on a cluster.
#include <span>
#include <vector>

#include "sim/topology/cluster.hpp"
#include "sim/topology/nccl_platform.hpp"

namespace ddpsim {

// The rings of find_rings, with links counted as NCCL counts them: NVLink at nvlink_share of what the
// topology says (its data-sheet figure), everything else as it is. Throws InputError (without a place) when
// there is no ring.
nccl::Communicator nccl_communicator(const Cluster& cluster, std::span<const int> gpus,
                                     const NcclPlatform& platform);

// The ring that NCCL falls back to where its search finds none (nccl::simple_order): node by node, by the
// GPUs' numbers. Entries index into `gpus`.
std::vector<int> simple_ring_order(const Cluster& cluster, std::span<const int> gpus);

}  // namespace ddpsim
