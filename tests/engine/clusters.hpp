#pragma once
// Clusters whose links are listed in code.
#include <functional>
#include <map>
#include <memory>
#include <numeric>
#include <string>
#include <vector>

#include <fmt/core.h>

#include "sim/topology/cluster.hpp"
#include "sim/topology/cluster_graph.hpp"

namespace ddpsim::testing {

struct RingLink {
  double latency_us = 5;
  double bandwidth_GBps = 12.5;
};

inline Link link_of(const RingLink& link) {
  return {BytesPerSecond(link.bandwidth_GBps * 1e9), Seconds(link.latency_us * 1e-6)};
}

class ListedCluster : public Cluster {
 public:
  ListedCluster(int gpus, int gpus_per_node) : gpus_(gpus), gpus_per_node_(gpus_per_node) {}

  int add_link(const RingLink& link) {
    links_.push_back(link_of(link));
    return static_cast<int>(links_.size()) - 1;
  }
  void set_link(int id, const RingLink& link) { links_[static_cast<std::size_t>(id)] = link_of(link); }
  // Which links lead from one GPU to another; empty: no way.
  std::function<std::vector<int>(int from, int to)> way;

  [[nodiscard]] int gpus() const override { return gpus_; }
  [[nodiscard]] int nodes() const override { return (gpus_ + gpus_per_node_ - 1) / gpus_per_node_; }
  [[nodiscard]] int node_of(int gpu) const override { return gpu / gpus_per_node_; }
  [[nodiscard]] std::string gpu_name(int gpu) const override { return fmt::format("gpu{}", gpu); }
  [[nodiscard]] int links() const override { return static_cast<int>(links_.size()); }
  [[nodiscard]] Link link(int id) const override { return links_.at(static_cast<std::size_t>(id)); }
  [[nodiscard]] std::string link_name(int id) const override { return fmt::format("link{}", id); }
  [[nodiscard]] std::vector<int> links_named(const std::string& name, const SourceSpan&) const override {
    return {std::stoi(name)};
  }
  [[nodiscard]] int position_of(int gpu) const override { return gpu % gpus_per_node_; }
  [[nodiscard]] int like_node(int) const override { return 0; }
  [[nodiscard]] std::optional<Route> find_route(int from, int to) const override {
    Route route{way(from, to), Seconds(0), BytesPerSecond(1e300)};
    if (route.links.empty()) return std::nullopt;
    for (int id : route.links) {
      route.latency += link(id).latency;
      route.bandwidth = std::min(route.bandwidth, link(id).bandwidth);
    }
    return route;
  }
  [[nodiscard]] Route route(int from, int to) const override {
    if (auto found = find_route(from, to)) return *found;
    throw InputError(fmt::format("no link leads from gpu{} to gpu{}", from, to));
  }
  [[nodiscard]] ClusterGraph graph() const override { return {}; }
  [[nodiscard]] std::optional<Route> to_switch(int) const override { return std::nullopt; }
  [[nodiscard]] std::optional<Route> from_switch(int) const override { return std::nullopt; }

 private:
  int gpus_, gpus_per_node_;
  std::vector<Link> links_;
};

// links[r] leads from GPU r to the next.
inline std::shared_ptr<ListedCluster> ring_cluster(const std::vector<RingLink>& links) {
  auto cluster = std::make_shared<ListedCluster>(static_cast<int>(links.size()), 1);
  for (const auto& link : links) cluster->add_link(link);
  cluster->way = [n = static_cast<int>(links.size())](int from, int to) {
    return to == (from + 1) % n ? std::vector<int>{from} : std::vector<int>{};
  };
  return cluster;
}

// Nodes of `per_node` GPUs with a link each pair (200 GB/s, 0.5 us) and a NIC a GPU; NICs of the same
// position form a ring of nodes (12.5 GB/s, 5 us). Link ids: nodes x per_node^2 inside, then nodes x per_node
// rails.
inline std::shared_ptr<ListedCluster> two_level_cluster(int nodes, int per_node) {
  auto cluster = std::make_shared<ListedCluster>(nodes * per_node, per_node);
  for (int i = 0; i < nodes * per_node * per_node; ++i) cluster->add_link({0.5, 200});
  for (int i = 0; i < nodes * per_node; ++i) cluster->add_link({5, 12.5});
  cluster->way = [nodes, per_node](int from, int to) -> std::vector<int> {
    int a = from / per_node, b = to / per_node;
    if (a == b) return {a * per_node * per_node + from % per_node * per_node + to % per_node};
    if (from % per_node == to % per_node && b == (a + 1) % nodes)
      return {nodes * per_node * per_node + a * per_node + from % per_node};
    return {};
  };
  return cluster;
}

// Every GPU on one big switch through ports that `sharing` GPUs have in common: id 2p out of port p, 2p+1 in.
inline std::shared_ptr<ListedCluster> switch_cluster(int gpus, int sharing, const RingLink& half_link) {
  auto cluster = std::make_shared<ListedCluster>(gpus, 1);
  for (int port = 0; port < (gpus + sharing - 1) / sharing; ++port) {
    cluster->add_link(half_link);
    cluster->add_link(half_link);
  }
  cluster->way = [sharing](int from, int to) {
    return std::vector<int>{2 * (from / sharing), 2 * (to / sharing) + 1};
  };
  return cluster;
}

}  // namespace ddpsim::testing
