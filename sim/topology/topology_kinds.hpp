#pragma once
// The kinds of topologies, of what their files say.
#include <memory>
#include <vector>

#include "sim/topology/graph_cluster.hpp"
#include "sim/topology/node_cluster.hpp"
#include "sim/topology/topology.hpp"

namespace ddpsim {

// Of the link from one rank to the next.
struct RingOverride {
  int from;
  LinkOverride change;
};

// Each GPU is a node of its own with one link, to the next.
std::shared_ptr<Topology> make_ring_topology(Link link, std::vector<RingOverride> overrides);
// Nodes, the fabric over them, and what differs.
std::shared_ptr<Topology> make_cluster_topology(std::shared_ptr<const ClusterPlan> plan,
                                                std::vector<LinkOverride> overrides);
// GPUs, switches, NICs and links by name.
std::shared_ptr<Topology> make_graph_topology(std::shared_ptr<const GraphPlan> plan,
                                              std::vector<LinkOverride> overrides);

}  // namespace ddpsim
