#pragma once
// What `cluster.overrides` change and nobody reads is a mistake.
#include "sim/config/value.hpp"
#include "sim/topology/topology.hpp"

namespace ddpsim {

// `overrides`: the section, null: none. Both throw InputError with its place.
//
// Where NCCL's model, alone or among other traffic, runs over links that have a bandwidth only. A figure that
// a link has anyway changes nothing and is no mistake.
void check_nccl_reads(const config::Value* overrides, const Topology& topology, int gpus);
// Where Gloo's traffic between GPUs uses PCIe and the network.
void check_gloo_uses(const config::Value* overrides, const Cluster& cluster);

}  // namespace ddpsim
