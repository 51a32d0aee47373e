#include "sim/topology/rings.hpp"

#include <algorithm>
#include <limits>
#include <unordered_map>

#include "sim/base/check.hpp"
#include "sim/topology/node_rings.hpp"

namespace ddpsim {
namespace {

// The rings as they are put together, node by node. The search judges a node as if all nodes were like it;
// where neighbours differ (one has a slow NIC, say), the way between them may be another than either was
// judged by. There the node's order is turned until the way from the previous node, through it and on to the
// next one is as wide as it can be beside the rings that are there already.
class RingsAcrossNodes {
 public:
  RingsAcrossNodes(const RingSearch& search, const KindsOfNodes& kinds, int channels)
      : search_(search), kinds_(kinds), channels_(channels) {}

  std::vector<int> ring(int channel) {
    std::size_t nodes = search_.nodes.size();
    std::vector<std::vector<int>> orders;
    for (std::size_t node = 0; node < nodes; ++node)
      orders.push_back(kinds_.of(node).ring(channel, channels_));
    for (std::size_t node = 0; node < nodes; ++node) {
      const auto& previous = orders[(node + nodes - 1) % nodes];
      const auto& next = orders[(node + 1) % nodes];
      if (adapts(node)) turn(node, previous.back(), next.front(), previous, orders[node]);
    }
    std::vector<int> ring;
    for (std::size_t node = 0; node < nodes; ++node)
      for (int member : orders[node]) ring.push_back(search_.nodes[node][member]);
    return ring;
  }

 private:
  // Of two neighbours that differ, the one of the rarer kind adapts.
  [[nodiscard]] bool adapts(std::size_t node) const {
    std::size_t nodes = search_.nodes.size();
    std::size_t like_it = kinds_.nodes_like(node);
    return nodes > 1 && (like_it < kinds_.nodes_like((node + 1) % nodes) ||
                         like_it < kinds_.nodes_like((node + nodes - 1) % nodes));
  }

  // The links of the ways around and through a node; empty where there is none.
  [[nodiscard]] std::vector<int> links(std::size_t node, int from, const std::vector<int>& order,
                                       int to) const {
    std::size_t nodes = search_.nodes.size();
    std::vector<int> gpus{search_.gpu(node + nodes - 1, from)};
    for (int member : order) gpus.push_back(search_.gpu(node, member));
    gpus.push_back(search_.gpu(node + 1, to));
    std::vector<int> links;
    for (std::size_t i = 0; i + 1 < gpus.size(); ++i) {
      auto route = search_.cluster.find_route(gpus[i], gpus[i + 1]);
      if (!route) return {};
      links.insert(links.end(), route->links.begin(), route->links.end());
    }
    return links;
  }

  // What a ring over these links gets if all rings carry the same.
  [[nodiscard]] BytesPerSecond width(const std::vector<int>& links) const {
    BytesPerSecond narrowest(links.empty() ? 0 : std::numeric_limits<double>::infinity());
    for (int link : links) {
      auto it = rings_on_.find(link);
      auto here = static_cast<double>(std::count(links.begin(), links.end(), link));
      double rings = (it == rings_on_.end() ? 0 : it->second) + here;
      narrowest = std::min(narrowest, search_.cluster.link(link).bandwidth / rings);
    }
    return narrowest;
  }

  // Candidates: the neighbour's order, which fits its own best, then the node's; each turned by every amount.
  void turn(std::size_t node, int from, int to, const std::vector<int>& neighbour, std::vector<int>& order) {
    std::vector<std::vector<int>> bases;
    if (neighbour.size() == order.size()) bases.push_back(neighbour);
    bases.push_back(order);
    BytesPerSecond widest(-1);
    for (auto base : bases)
      for (std::size_t turned = 0; turned < base.size(); ++turned) {
        auto now = width(links(node, from, base, to));
        if (now.value() > widest.value() * (widest.value() > 0 ? 1 + 1e-9 : 1)) {
          widest = now;
          order = base;
        }
        std::rotate(base.begin(), base.begin() + 1, base.end());
      }
    for (int link : links(node, from, order, to)) rings_on_[link] += 1;
  }

  const RingSearch& search_;
  const KindsOfNodes& kinds_;
  int channels_;
  std::unordered_map<int, double> rings_on_;  // by link, of the ways around nodes that differ
};

std::vector<std::vector<int>> search_rings(const Cluster& hashed, std::span<const int> gpus,
                                           std::optional<int> channels) {
  RingSearch search{hashed.without_hashing(), gpus, by_node(hashed, gpus)};
  const auto& cluster = search.cluster;
  KindsOfNodes kinds(search, channels);
  int count = channels ? *channels : kinds.best_channels();
  RingsAcrossNodes across(search, kinds, count);
  std::vector<std::vector<int>> rings;
  for (int channel = 0; channel < count; ++channel) {
    rings.push_back(across.ring(channel));
    const auto& ring = rings.back();
    // Throws where two neighbours have no route.
    for (std::size_t i = 0; i < ring.size(); ++i)
      if (int from = gpus[ring[i]], to = gpus[ring[(i + 1) % ring.size()]];
          cluster.node_of(from) != cluster.node_of(to) || search.nodes.size() == 1)
        (void)cluster.route(from, to);
  }
  return rings;
}

}  // namespace

std::vector<std::vector<int>> find_rings(const Cluster& cluster, std::span<const int> gpus,
                                         std::optional<int> channels) {
  DDPSIM_CHECK(gpus.size() >= 2, "a ring has at least two GPUs");
  DDPSIM_CHECK(!channels || *channels >= 1, "no rings asked for");
  // The search is over that cluster, whoever looks at it.
  return cluster.without_hashing().known_rings().of({{gpus.begin(), gpus.end()}, channels},
                                                    [&] { return search_rings(cluster, gpus, channels); });
}

}  // namespace ddpsim
