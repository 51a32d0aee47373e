#pragma once
// What `cluster.overrides`, `cluster.nics` and `cluster.interconnect` change and nobody reads is a mistake.
#include "sim/resolve/cluster_section.hpp"
#include "sim/topology/topology.hpp"

namespace ddpsim {

// Both throw InputError with the place of the change.
//
// Where NCCL's model, alone or among other traffic, runs over links that have a bandwidth only. A figure that
// a link has anyway changes nothing and is no mistake.
void check_nccl_reads(const GivenJob& given, const Topology& topology);
// Where Gloo's traffic between GPUs uses PCIe and the network.
void check_gloo_uses(const GivenJob& given, const Cluster& cluster);

}  // namespace ddpsim
