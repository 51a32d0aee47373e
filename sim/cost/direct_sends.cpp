#include "sim/cost/direct_sends.hpp"

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

#include <fmt/core.h>

#include "sim/base/source.hpp"

namespace ddpsim {
namespace {

// Nodes that are twins, with GPUs of the group at the same positions. All of it is said of the first.
struct Twins {
  std::vector<int> gpus;    // of the first node
  std::vector<int> second;  // of the second node; empty: there is one
  double nodes = 0;
};

std::vector<Twins> twins_of(const Cluster& cluster, std::span<const int> gpus) {
  std::map<int, std::vector<int>> by_node;
  for (int gpu : gpus) by_node[cluster.node_of(gpu)].push_back(gpu);
  std::vector<Twins> all;
  std::map<std::pair<int, std::vector<int>>, std::size_t> place;
  for (auto& [node, members] : by_node) {
    std::sort(members.begin(), members.end());
    std::vector<int> positions;
    for (int gpu : members) positions.push_back(cluster.position_of(gpu));
    auto [it, is_new] = place.try_emplace({cluster.twin_of(node), std::move(positions)}, all.size());
    if (is_new) all.emplace_back();
    auto& twins = all[it->second];
    if (is_new)
      twins.gpus = std::move(members);
    else if (twins.second.empty())
      twins.second = std::move(members);
    ++twins.nodes;
  }
  return all;
}

// Flows over each link; of twins' own links over those of the first alone.
class LinkFlows {
 public:
  explicit LinkFlows(const Cluster& cluster)
      : cluster_(cluster), flows_(static_cast<std::size_t>(cluster.links())) {}

  // Each of the first node's GPUs to each of another node of `to`.
  void across(const Twins& from, const Twins& to) {
    bool among_twins = &from == &to;
    const auto& receivers = among_twins ? to.second : to.gpus;
    if (receivers.empty()) return;
    double nodes_to = among_twins ? to.nodes - 1 : to.nodes;
    double nodes_from = among_twins ? from.nodes - 1 : from.nodes;
    auto sender_links = own_links(from.gpus), receiver_links = own_links(receivers);
    int to_first = own_links(to.gpus).first - receiver_links.first;
    for (int sender : from.gpus)
      for (int receiver : receivers)
        each_link(sender, receiver, [&](int link, double part) {
          if (sender_links.has(link))
            add(link, nodes_to * part);
          else if (receiver_links.has(link))
            add(link + to_first, nodes_from * part);
          else
            add(link, from.nodes * nodes_to * part);
        });
  }
  void inside(const Twins& node) {
    auto own = own_links(node.gpus);
    for (int sender : node.gpus)
      for (int receiver : node.gpus)
        if (sender != receiver)
          each_link(sender, receiver,
                    [&](int link, double part) { add(link, part * (own.has(link) ? 1 : node.nodes)); });
  }
  void one(int sender, int receiver) {
    each_link(sender, receiver, [&](int link, double part) { add(link, part); });
  }

  [[nodiscard]] Seconds latency() const { return latency_; }  // of the longest way
  // Of flows of `bytes` each, for the longest time of a link.
  [[nodiscard]] nccl::LinkBounds longest(double bytes) const {
    nccl::LinkBounds longest;
    for (std::size_t l = 0; l < flows_.size(); ++l) {
      if (flows_[l] == 0) continue;
      auto link = static_cast<int>(l);
      double time = bytes * flows_[l] / cluster_.link(link).bandwidth.value();
      longest.all = std::max(longest.all, time);
      if (cluster_.cable(link).medium != Medium::network)
        longest.within_nodes = std::max(longest.within_nodes, time);
    }
    return longest;
  }

 private:
  // Calls use(link, part of the flow) for each link on its way, once for each part it is cut into.
  template <class Use>
  void each_link(int sender, int receiver, const Use& use) {
    auto route = cluster_.route(sender, receiver);
    latency_ = std::max(latency_, route.latency);
    int hashes = cluster_.hashes();
    for (int link : route.links) use(link, 1.0 / hashes);
    for (int hash = 1; hash < hashes; ++hash)
      for (int link : cluster_.of_hash(route.links, hash)) use(link, 1.0 / hashes);
  }
  [[nodiscard]] Cluster::LinkRange own_links(const std::vector<int>& gpus) const {
    return cluster_.own_links(cluster_.node_of(gpus.front()));
  }
  void add(int link, double flows) { flows_[static_cast<std::size_t>(link)] += flows; }

  const Cluster& cluster_;
  std::vector<double> flows_;
  Seconds latency_;
};

void check_routes(const std::vector<Twins>& twins, std::size_t gpus) {
  double different = 0;
  for (const auto& node : twins) different += static_cast<double>(node.gpus.size());
  if (different * different > DirectSends::kMostRoutes)
    throw InputError(
        fmt::format(
            "the links of an all-to-all of {} GPUs are not counted: {:.0f} of them have routes of their "
            "own, at most 2048 may",
            gpus, different),
        "use a smaller --world-size, or smaller groups");
}

}  // namespace

DirectSends::DirectSends(const Cluster& cluster, std::span<const int> gpus, Operation operation) {
  LinkFlows flows(cluster);
  double part = 1;
  if (is_pair(operation)) {
    flows.one(gpus[0], gpus[1]);
  } else if (is_fan(operation)) {
    bool to_root = traits_of(operation).root == Root::to;
    for (int gpu : gpus.subspan(1)) flows.one(to_root ? gpu : gpus[0], to_root ? gpus[0] : gpu);
    part = 1.0 / static_cast<double>(gpus.size());
  } else {
    auto twins = twins_of(cluster, gpus);
    check_routes(twins, gpus.size());
    for (const auto& from : twins) {
      flows.inside(from);
      for (const auto& to : twins) flows.across(from, to);
    }
    part = 1.0 / static_cast<double>(gpus.size());
  }
  latency_ = flows.latency();
  bounds_ = flows.longest(part);
}

DirectSends::DirectSends(const Cluster& cluster, std::span<const int> gpus, std::span<const int> servers,
                         Ways ways) {
  LinkFlows flows(cluster);
  for (int gpu : gpus)
    for (int server : servers) {
      if (ways != Ways::from) flows.one(gpu, server);
      if (ways != Ways::to) flows.one(server, gpu);
    }
  latency_ = flows.latency();
  bounds_ = flows.longest(1.0 / static_cast<double>(servers.size()));
}

}  // namespace ddpsim
