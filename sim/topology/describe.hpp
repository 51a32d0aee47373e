#pragma once
// A cluster for people: what joins two GPUs, a matrix of that, and a summary.
#include <optional>
#include <string>
#include <vector>

#include "sim/topology/cluster.hpp"

namespace ddpsim {

// In the words of `nvidia-smi topo -m`: X itself, NV4 four NVLinks (NV: not said how many), PIX one PCIe
// switch, PXB several, PHB a host bridge, NODE several of one NUMA node, SYS the link between sockets, NET
// the network; - no way.
std::string link_type(const Cluster& cluster, int gpu_a, int gpu_b);

// That for every pair of GPUs, or of those of the first node if there are more than fit a page.
std::string topology_table(const Cluster& cluster);

// The GPUs of that table.
std::vector<int> gpus_on_a_page(const Cluster& cluster);

struct TopologySummary {
  int gpus = 0;
  int nodes = 0;
  int links = 0;
  int narrowest_link = -1;  // -1: there are none
  int widest_link = -1;
  BytesPerSecond bisection;
  // From the first GPU to the first one of another node; nullopt with one node or without a way.
  std::optional<Route> between_nodes;
  int bottleneck = -1;  // the narrowest link of that route
};
TopologySummary summarize(const Cluster& cluster);

// For Graphviz: a box a node, each pair of links an edge with its bandwidth, broken links dashed and red.
// Throws InputError for more than 4,096 vertices.
std::string to_dot(const Cluster& cluster);

}  // namespace ddpsim
