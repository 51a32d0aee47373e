#include "sim/cost/gloo_model.hpp"

#include <algorithm>
#include <array>
#include <map>
#include <vector>

#include "sim/base/check.hpp"
#include "sim/topology/cluster_graph.hpp"

namespace ddpsim {
namespace {

// A connection of the ring between two machines.
struct Crossing {
  int from, to;  // nodes
  std::vector<int> links;
};

std::vector<Crossing> crossings_of(const Cluster& cluster, std::span<const int> gpus) {
  std::vector<Crossing> crossings;
  for (std::size_t rank = 0; rank < gpus.size(); ++rank) {
    int from = gpus[rank], to = gpus[(rank + gpus.size() - 1) % gpus.size()];
    if (cluster.node_of(from) == cluster.node_of(to)) continue;
    crossings.push_back(
        {cluster.node_of(from), cluster.node_of(to), network_links(cluster, cluster.route(from, to))});
  }
  return crossings;
}

void set_network(const Cluster& cluster, const std::vector<Crossing>& crossings, gloo::Group& group) {
  std::map<int, int> users, leaving, arriving;  // by link, by node
  for (const auto& crossing : crossings) {
    ++leaving[crossing.from];
    ++arriving[crossing.to];
    for (int link : crossing.links) ++users[link];
  }
  for (const auto& crossing : crossings) {
    // All of a machine's connections share one NIC, whichever is nearest to each GPU.
    users[crossing.links.front()] = std::max(users[crossing.links.front()], leaving[crossing.from]);
    users[crossing.links.back()] = std::max(users[crossing.links.back()], arriving[crossing.to]);
  }
  for (const auto& crossing : crossings) {
    Seconds latency;
    for (int link : crossing.links) {
      auto share = cluster.link(link).bandwidth / static_cast<double>(users[link]);
      group.network = std::min(group.network.value_or(share), share);
      latency += cluster.link(link).latency;
    }
    group.network_latency = std::max(group.network_latency, latency);
  }
}

// The links that a GPU's copies use: its own to its switch, and that one's to its host bridge.
class HostPaths {
 public:
  HostPaths(const Cluster& cluster, const ClusterGraph& graph) {
    using Kind = ClusterGraph::Kind;
    for (const auto& edge : graph.edges) {
      auto kind = [&](int vertex) { return graph.vertices[static_cast<std::size_t>(vertex)].kind; };
      if (edge.link < 0 || edge.broken || kind(edge.to) != Kind::node_switch) continue;
      auto medium = cluster.cable(edge.link).medium;
      if (kind(edge.from) == Kind::gpu && medium == Medium::pcie) own_.emplace(edge.from, &edge);
      if (medium == Medium::host_bridge || medium == Medium::numa_node) shared_.emplace(edge.from, &edge);
    }
  }

  [[nodiscard]] std::vector<const ClusterGraph::Edge*> path(int gpu_vertex) const {
    auto own = own_.find(gpu_vertex);
    if (own == own_.end()) return {};
    auto shared = shared_.find(own->second->to);
    if (shared == shared_.end()) return {own->second};
    return {own->second, shared->second};
  }

 private:
  std::map<int, const ClusterGraph::Edge*> own_, shared_;  // by the vertex they start at
};

}  // namespace

std::vector<int> network_links(const Cluster& cluster, const Route& route) {
  std::vector<int> links;
  std::copy_if(route.links.begin(), route.links.end(), std::back_inserter(links),
               [&](int link) { return cluster.cable(link).medium == Medium::network; });
  return links.empty() ? route.links : links;
}

bool GlooModel::has_formula(Operation operation) {
  return operation == Operation::all_reduce || operation == Operation::broadcast;
}

LibraryModel::Way GlooModel::way(Bytes, Operation operation) const {
  bool is_tree = operation == Operation::broadcast;
  return {is_tree ? "binomial" : "ring", "estimated",
          has_formula(operation) ? "" : "its share of a ring all-reduce's"};
}

Seconds GlooModel::unscaled(Bytes bytes, Operation operation) const {
  if (operation == Operation::broadcast) return cost_.broadcast(bytes);
  return share_of_all_reduce(operation, cost_.group().ranks) * cost_.all_reduce(bytes);
}

gloo::Group gloo_group(const Cluster& cluster, std::span<const int> gpus) {
  gloo::Group group;
  group.ranks = static_cast<int>(gpus.size());
  std::map<int, int> on_node;
  for (int gpu : gpus)
    group.ranks_per_machine = std::max(group.ranks_per_machine, ++on_node[cluster.node_of(gpu)]);
  set_network(cluster, crossings_of(cluster, gpus), group);
  return group;
}

std::optional<BytesPerSecond> pcie_copy_bandwidth(const Cluster& cluster, std::span<const int> gpus) {
  auto graph = cluster.graph();
  HostPaths paths(cluster, graph);
  std::vector<bool> takes_part(static_cast<std::size_t>(cluster.gpus()));
  for (int gpu : gpus) takes_part[static_cast<std::size_t>(gpu)] = true;
  std::map<int, std::pair<int, BytesPerSecond>> links;  // users and bandwidth
  for (std::size_t v = 0; v < graph.vertices.size(); ++v) {
    int gpu = graph.vertices[v].gpu;
    if (graph.vertices[v].kind != ClusterGraph::Kind::gpu || gpu < 0 ||
        !takes_part[static_cast<std::size_t>(gpu)])
      continue;
    for (const auto* edge : paths.path(static_cast<int>(v))) {
      auto& [users, bandwidth] = links[edge->link];
      ++users;
      bandwidth = edge->figures.bandwidth;
    }
  }
  std::optional<BytesPerSecond> least;
  for (const auto& [link, use] : links) {
    auto share = use.second / static_cast<double>(use.first);
    least = std::min(least.value_or(share), share);
  }
  return least;
}

// PCIe 3.0, 4.0 and 5.0 with 16 lanes carry 15.75, 31.5 and 63 GB/s; of these copies reach 12, 24 (as in the
// presets with PCIe) and 46.8 (device to host; 54.8 the other way: 8 H100 SXM5, aigatech/vpbenchmarking).
BytesPerSecond usual_copy_bandwidth(const Topology& topology) {
  using namespace ddpsim::literals;
  if (!topology.nccl) return 24_GBps;
  constexpr std::array kCopies{12_GBps, 24_GBps, 46.8_GBps};
  int generation = nccl::chip_of(topology.nccl->gpu).pcie_generation;
  return kCopies.at(static_cast<std::size_t>(std::clamp(generation, 3, 5) - 3));
}

}  // namespace ddpsim
