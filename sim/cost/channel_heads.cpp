#include "sim/cost/channel_heads.hpp"

#include <algorithm>
#include <map>
#include <numeric>

namespace ddpsim {
namespace {

// At both ends of a way between two nodes; none where it crosses no network.
std::vector<int> nics_of(const Cluster& cluster, const std::vector<int>& links) {
  auto is_network = [&](int link) { return cluster.cable(link).medium == Medium::network; };
  auto first = std::find_if(links.begin(), links.end(), is_network);
  if (first == links.end()) return {};
  return {*first, *std::find_if(links.rbegin(), links.rend(), is_network)};
}

// The cables that each local position uses, from each node to the next.
using Cables = std::vector<std::vector<int>>;

Cables cables_of(const Cluster& cluster, std::span<const int> gpus,
                 const std::vector<std::vector<int>>& nodes) {
  Cables cables(nodes.front().size());
  auto gpu = [gpus](int rank) { return gpus[static_cast<std::size_t>(rank)]; };
  for (std::size_t node = 0; node < nodes.size(); ++node) {
    const auto& next = nodes[(node + 1) % nodes.size()];
    for (std::size_t p = 0; p < cables.size(); ++p)
      for (int link : nics_of(cluster, cluster.route(gpu(nodes[node][p]), gpu(next[p])).links))
        cables[p].push_back(link);
  }
  return cables;
}

struct Slowest {
  std::size_t head = 0;  // its place among the heads
  BytesPerSecond share;  // of its slowest cable, which other heads may use, too
  bool are_others_faster = false;
};

Slowest slowest_of(const Cluster& cluster, const Cables& cables, const std::vector<int>& heads) {
  std::map<int, int> uses;
  for (int p : heads)
    for (int link : cables[static_cast<std::size_t>(p)]) ++uses[link];
  std::vector<BytesPerSecond> shares;
  for (int p : heads) {
    auto& least = shares.emplace_back(1e300);
    for (int link : cables[static_cast<std::size_t>(p)])
      least = std::min(least, cluster.link(link).bandwidth / uses.at(link));
  }
  auto [least, most] = std::minmax_element(shares.begin(), shares.end());
  return {static_cast<std::size_t>(least - shares.begin()), *least, *least < *most};
}

}  // namespace

std::vector<int> channel_heads(const Cluster& cluster, std::span<const int> gpus,
                               const std::vector<std::vector<int>>& nodes) {
  auto differs = [&](const auto& node) { return node.size() != nodes.front().size(); };
  if (nodes.size() < 2 || std::any_of(nodes.begin(), nodes.end(), differs)) return {};
  auto cables = cables_of(cluster, gpus, nodes);
  std::vector<int> heads(cables.size());
  std::iota(heads.begin(), heads.end(), 0);
  auto slowest = slowest_of(cluster, cables, heads);
  std::vector<int> best;
  auto most = static_cast<double>(heads.size()) * slowest.share;
  while (slowest.are_others_faster) {
    heads.erase(heads.begin() + static_cast<std::ptrdiff_t>(slowest.head));
    slowest = slowest_of(cluster, cables, heads);
    auto total = static_cast<double>(heads.size()) * slowest.share;
    if (total <= most) continue;
    most = total;
    best = heads;
  }
  return best;
}

}  // namespace ddpsim
