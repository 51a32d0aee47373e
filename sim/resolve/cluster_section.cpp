#include "sim/resolve/cluster_section.hpp"

#include <limits>

#include <fmt/core.h>

#include "sim/base/counted.hpp"
#include "sim/base/limits.hpp"
#include "sim/text/cluster_overrides.hpp"

namespace ddpsim {

int domain_gpus(const GivenJob& given, const Topology& topology) {
  const auto& cluster = given.job.cluster;
  auto of_node = topology.node_size();
  if (auto gpus = cluster.domain_gpus) {
    const auto& place = given.at("cluster.domain_gpus");
    if (!of_node)
      throw InputError(place, "only a topology of kind cluster has nodes of which a job takes a part",
                       "remove 'domain_gpus', or use such a topology");
    if (*gpus > *of_node)
      throw InputError(place, fmt::format("a node has {}", counted(*of_node, "GPU")),
                       fmt::format("domain_gpus is at most {}", *of_node));
    if ((cluster.world_size + *gpus - 1) / *gpus > kLargestWorldSize / *of_node)
      throw InputError(place, fmt::format("nodes for {} ranks have too many GPUs", cluster.world_size),
                       "take more of each node");
    return *gpus;
  }
  auto of_rack = topology.rack_size();
  if (!of_rack) return of_node.value_or(std::numeric_limits<int>::max());
  int usual = usual_domain_gpus(cluster.world_size, *of_rack);
  // Racks that are given and would be too few.
  if (cluster.nodes && cluster.world_size > std::int64_t{*cluster.nodes} * usual) return *of_rack;
  return usual;
}

int gpus_of(const Topology& topology, const GivenJob& given) {
  const auto& cluster = given.job.cluster;
  auto of_node = topology.node_size();
  int taken = domain_gpus(given, topology);
  if (!cluster.nodes)
    return of_node ? gpus_of_nodes(cluster.world_size, taken, *of_node) : cluster.world_size;
  const auto& place = given.at("cluster.nodes");
  if (!of_node)
    throw InputError(place, "only a topology of kind cluster has any number of nodes",
                     "remove 'nodes', or use such a topology");
  int nodes = *cluster.nodes, most = kLargestWorldSize / *of_node;
  if (nodes > most)
    throw InputError(place, fmt::format("{} is out of range", nodes),
                     fmt::format("write a number from 1 to {}", most));
  if (cluster.world_size > std::int64_t{nodes} * taken)
    throw InputError(
        place,
        fmt::format("{} ranks are more than {} of {} hold", cluster.world_size, counted(nodes, "node"),
                    counted(taken, "GPU")),
        fmt::format("the job needs {}", counted((cluster.world_size + taken - 1) / taken, "node")));
  return nodes * *of_node;
}

std::shared_ptr<const Cluster> build_cluster(const Topology& topology, const GivenJob& given,
                                             const LinkScale& links, int gpus) {
  auto different = read_cluster_overrides(given).links;
  const auto& hashing = given.job.cluster.hashing;
  if (hashing) try {
      topology.check_hashing(gpus);
    } catch (const InputError& error) {
      throw error.at(given.at("cluster.hashing"));
    }
  try {
    return with_scaled_links(topology.build(gpus, different, hashing), links);
  } catch (const InputError& error) {
    throw error.at(given.at("cluster.world_size"));
  }
}

Placement job_placement(const GivenJob& given, const Topology& topology) {
  auto placement = given.job.cluster.placement;
  placement.of_node = domain_gpus(given, topology);
  return placement;
}

std::vector<int> place_job(const GivenJob& given, const Topology& topology, const Cluster& cluster) {
  auto placement = job_placement(given, topology);
  if (placement.kind == PlacementKind::random_nodes && !given.job.cluster.nodes)
    throw InputError(given.at("cluster.placement"), "nothing says from how many nodes these are drawn",
                     "add cluster.nodes: how many nodes the cluster has, in use or not");
  auto overrides = read_cluster_overrides(given);
  for (int node : overrides.broken_nodes)
    if (node >= cluster.nodes())
      throw InputError(
          overrides.broken_place,
          fmt::format("there is no node {}: the cluster has {}", node, counted(cluster.nodes(), "node")),
          "cluster.nodes says how many there are");
  try {
    return place_ranks(placement, cluster, given.job.cluster.world_size, overrides.broken_nodes);
  } catch (const InputError& error) {
    throw error.at(overrides.broken_place);
  }
}

}  // namespace ddpsim
