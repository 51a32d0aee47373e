#include "sim/text/cluster_section.hpp"

#include <limits>

#include <fmt/core.h>

#include "sim/base/counted.hpp"
#include "sim/base/limits.hpp"
#include "sim/config/reader.hpp"
#include "sim/text/cluster_overrides.hpp"
#include "sim/text/sections.hpp"

namespace ddpsim {
namespace {

using config::as_integer;
using config::MapReader;
using config::Value;

}  // namespace

ClusterSection::ClusterSection(const Value& root) : place(root.span) {
  MapReader reader(root, "cluster");
  topology = reader.find("topology");
  world_size_value = &reader.require("world_size");
  placement = reader.find("placement");
  groups = reader.find("groups");
  overrides = reader.find("overrides");
  nodes = reader.find("nodes");
  background = reader.find("background");
  hashing = reader.find("hashing");
  domain_gpus = reader.find("domain_gpus");
  reader.find("gpu");  // read with the physics
  price = reader.optional("price", config::as_number(0, 1e9));
  reader.finish();
  world_size = static_cast<int>(as_integer(1, kLargestWorldSize)(*world_size_value));
  hashing_seed = read_hashing(hashing);
}

int domain_gpus(const ClusterSection& section, const Topology& topology) {
  auto of_node = topology.node_size();
  if (const auto* said = section.domain_gpus) {
    if (!of_node)
      throw InputError(said->span, "only a topology of kind cluster has nodes of which a job takes a part",
                       "remove 'domain_gpus', or use such a topology");
    auto gpus = as_integer(1, kLargestWorldSize)(*said);
    if (gpus > *of_node)
      throw InputError(said->span, fmt::format("a node has {}", counted(*of_node, "GPU")),
                       fmt::format("domain_gpus is at most {}", *of_node));
    if ((section.world_size + gpus - 1) / gpus > kLargestWorldSize / *of_node)
      throw InputError(said->span, fmt::format("nodes for {} ranks have too many GPUs", section.world_size),
                       "take more of each node");
    return static_cast<int>(gpus);
  }
  auto of_rack = topology.rack_size();
  if (!of_rack) return of_node.value_or(std::numeric_limits<int>::max());
  int usual = usual_domain_gpus(section.world_size, *of_rack);
  // Racks that are given and would be too few.
  if (section.nodes && section.world_size > as_integer(1, kLargestWorldSize)(*section.nodes) * usual)
    return *of_rack;
  return usual;
}

int gpus_of(const Topology& topology, const ClusterSection& section) {
  auto of_node = topology.node_size();
  int taken = domain_gpus(section, topology);
  if (!section.nodes)
    return of_node ? gpus_of_nodes(section.world_size, taken, *of_node) : section.world_size;
  if (!of_node)
    throw InputError(section.nodes->span, "only a topology of kind cluster has any number of nodes",
                     "remove 'nodes', or use such a topology");
  auto nodes = static_cast<int>(as_integer(1, kLargestWorldSize / *of_node)(*section.nodes));
  if (section.world_size > nodes * taken)
    throw InputError(
        section.nodes->span,
        fmt::format("{} ranks are more than {} of {} hold", section.world_size, counted(nodes, "node"),
                    counted(taken, "GPU")),
        fmt::format("the job needs {}", counted((section.world_size + taken - 1) / taken, "node")));
  return nodes * *of_node;
}

std::shared_ptr<const Cluster> build_cluster(const Topology& topology, const ClusterSection& section,
                                             const LinkScale& links, int gpus) {
  auto different = read_cluster_overrides(section.overrides).links;
  if (section.hashing_seed) try {
      topology.check_hashing(gpus);
    } catch (const InputError& error) {
      throw error.at(section.hashing->span);
    }
  try {
    return with_scaled_links(topology.build(gpus, different, section.hashing_seed), links);
  } catch (const InputError& error) {
    throw error.at(section.world_size_value->span);
  }
}

Placement job_placement(const ClusterSection& section, const Topology& topology) {
  auto placement = read_placement(section.placement);
  placement.of_node = domain_gpus(section, topology);
  return placement;
}

std::vector<int> place_job(const ClusterSection& section, const Topology& topology, const Cluster& cluster) {
  auto placement = job_placement(section, topology);
  if (placement.kind == PlacementKind::random_nodes && !section.nodes)
    throw InputError(section.placement->span, "nothing says from how many nodes these are drawn",
                     "add cluster.nodes: how many nodes the cluster has, in use or not");
  auto overrides = read_cluster_overrides(section.overrides);
  for (int node : overrides.broken_nodes)
    if (node >= cluster.nodes())
      throw InputError(
          overrides.broken_place,
          fmt::format("there is no node {}: the cluster has {}", node, counted(cluster.nodes(), "node")),
          "cluster.nodes says how many there are");
  try {
    return place_ranks(placement, cluster, section.world_size, overrides.broken_nodes);
  } catch (const InputError& error) {
    throw error.at(overrides.broken_place);
  }
}

}  // namespace ddpsim
