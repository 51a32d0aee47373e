#include "sim/cost/hashed_flows.hpp"

#include <algorithm>
#include <utility>
#include <vector>

namespace ddpsim {
namespace {

bool takes_other_cables(const Cluster& cluster, const Channel& channel) {
  return std::any_of(channel.edges.begin(), channel.edges.end(), [&](const Edge& edge) {
    auto first = std::span<const int>(edge.route.data(), edge.route.size());
    for (int hash = 1; hash < cluster.hashes(); ++hash)
      if (!std::ranges::equal(cluster.of_hash(first, hash), first)) return true;
    return false;
  });
}

void take_cables(const Cluster& cluster, int hash, Edge& edge) {
  auto links = cluster.of_hash({edge.route.data(), edge.route.size()}, hash);
  edge.route.assign(links.begin(), links.end());
  edge.latency = Seconds(0);
  for (std::size_t i = 0; i < links.size(); ++i) {
    auto link = cluster.link(links[i]);
    edge.latency += link.latency;
    edge.bandwidth = i == 0 ? link.bandwidth : std::min(edge.bandwidth, link.bandwidth);
  }
}

}  // namespace

void cut_flows(const Cluster& cluster, CollectiveSchedule& schedule) {
  int hashes = cluster.hashes();
  if (hashes == 1) return;
  for (auto& stage : schedule.stages) {
    std::vector<Channel> all;
    for (auto& channel : stage.channels) {
      if (!takes_other_cables(cluster, channel)) {
        all.push_back(std::move(channel));
        continue;
      }
      for (int hash = 0; hash < hashes; ++hash) {
        auto& part = all.emplace_back(channel);
        part.cut = channel.cut * hashes;
        part.part = {channel.part.index * hashes + hash * channel.part.count, channel.part.of * hashes,
                     channel.part.count};
        if (hash > 0)
          for (auto& edge : part.edges) take_cables(cluster, hash, edge);
      }
    }
    stage.channels = std::move(all);
  }
}

}  // namespace ddpsim
