#include "sim/topology/rings.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <unordered_map>

#include "sim/base/check.hpp"
#include "sim/topology/ring_search.hpp"

namespace ddpsim {
namespace {

// The GPUs of one node that take part, in order of their number; entries index into `gpus`.
using Members = std::vector<int>;

struct Search {
  const Cluster& cluster;
  std::span<const int> gpus;
  std::vector<Members> nodes;

  [[nodiscard]] int gpu(std::size_t node, int member) const {
    const auto& members = nodes[node % nodes.size()];
    return gpus[members[static_cast<std::size_t>(member) % members.size()]];
  }
};

std::vector<Members> by_node(const Cluster& cluster, std::span<const int> gpus) {
  std::vector<Members> nodes;
  std::unordered_map<int, std::size_t> place;
  for (std::size_t i = 0; i < gpus.size(); ++i) {
    auto [it, first] = place.try_emplace(cluster.node_of(gpus[i]), nodes.size());
    if (first) nodes.emplace_back();
    nodes[it->second].push_back(static_cast<int>(i));
  }
  for (auto& members : nodes)
    std::sort(members.begin(), members.end(), [&](int a, int b) { return gpus[a] < gpus[b]; });
  return nodes;
}

// Collects the links of hops, numbered in order of their first use.
class HopLinks {
 public:
  HopLinks(const Cluster& cluster, RingHops& hops) : cluster_(cluster), hops_(hops) {}

  bool add(RingHops::Hop& hop, int from_gpu, int to_gpu) {
    auto route = cluster_.find_route(from_gpu, to_gpu);
    if (!route || !hop) {
      hop.reset();
      return false;
    }
    for (int link : route->links) {
      auto [it, first] = number_.try_emplace(link, static_cast<int>(hops_.bandwidth.size()));
      if (first) hops_.bandwidth.push_back(cluster_.link(link).bandwidth);
      hop->push_back(it->second);
    }
    return true;
  }

 private:
  const Cluster& cluster_;
  RingHops& hops_;
  std::unordered_map<int, int> number_;
};

// Between nodes a path is closed by the way on to the next node and the way here from the previous one, both
// with the same first and last member: what happens in all nodes, as this one's links see it.
RingHops hops_of(const Search& search, std::size_t node) {
  RingHops hops;
  hops.members = static_cast<int>(search.nodes[node].size());
  hops.closed = search.nodes.size() == 1;
  auto pairs = static_cast<std::size_t>(hops.members) * static_cast<std::size_t>(hops.members);
  hops.inner.assign(pairs, std::vector<int>{});
  hops.closing.assign(pairs, std::vector<int>{});
  HopLinks links(search.cluster, hops);
  for (int from = 0; from < hops.members; ++from)
    for (int to = 0; to < hops.members; ++to) {
      links.add(hops.inner[hops.at(from, to)], search.gpu(node, from), search.gpu(node, to));
      auto& closing = hops.closing[hops.at(from, to)];
      if (hops.closed) {
        closing = hops.inner[hops.at(from, to)];
      } else {
        auto previous = node + search.nodes.size() - 1;
        links.add(closing, search.gpu(node, from), search.gpu(node + 1, to)) &&
            links.add(closing, search.gpu(previous, from), search.gpu(node, to));
      }
    }
  return hops;
}

// What nodes of one kind offer.
struct NodeRings {
  std::vector<Packing> packings;

  // The packing that gives `channels` rings the most bandwidth; null if none has so many.
  [[nodiscard]] const Packing* with(int channels) const {
    const Packing* best = nullptr;
    for (const auto& packing : packings)
      if (static_cast<int>(packing.rings.size()) >= channels && (!best || packing.width > best->width))
        best = &packing;
    return best;
  }
  [[nodiscard]] int most_channels() const {
    std::size_t most = 0;
    for (const auto& packing : packings) most = std::max(most, packing.rings.size());
    return static_cast<int>(most);
  }
  // Channels beyond what the links hold repeat the ones there are.
  [[nodiscard]] const std::vector<int>& ring(int channel, int channels) const {
    const Packing* packing = with(std::min(channels, most_channels()));
    return packing->rings[static_cast<std::size_t>(channel) % packing->rings.size()];
  }
};

// As many as add bandwidth in the node that gains least; fewer if that is the same.
int best_channels(const std::vector<NodeRings>& kinds) {
  int most = kinds.front().most_channels();
  for (const auto& kind : kinds) most = std::min(most, kind.most_channels());
  int best = 1;
  BytesPerSecond best_total(0);
  for (int channels = 1; channels <= most; ++channels) {
    BytesPerSecond total = kinds.front().with(channels)->width * channels;
    for (const auto& kind : kinds) total = std::min(total, kind.with(channels)->width * channels);
    if (total > best_total * (1 + 1e-9)) {
      best = channels;
      best_total = total;
    }
  }
  return best;
}

// Throws the error of the first pair without a route in the order given.
[[noreturn]] void throw_no_ring(const Search& search, std::size_t node) {
  int members = static_cast<int>(search.nodes[node].size());
  for (int member = 0; member + 1 < members; ++member)
    (void)search.cluster.route(search.gpu(node, member), search.gpu(node, member + 1));
  (void)search.cluster.route(search.gpu(node, members - 1), search.gpu(node + 1, 0));
  std::size_t previous = (node + search.nodes.size() - 1) % search.nodes.size();
  int last = static_cast<int>(search.nodes[previous].size()) - 1;
  (void)search.cluster.route(search.gpu(previous, last), search.gpu(node, 0));
  throw InputError("no ring leads through all GPUs of a node", "add links, or use another algorithm");
}

class KindsOfNodes {
 public:
  KindsOfNodes(const Search& search, std::optional<int> channels) {
    std::map<std::vector<int>, std::size_t> known;
    for (std::size_t node = 0; node < search.nodes.size(); ++node) {
      auto [it, first] = known.try_emplace(key(search, node), rings_.size());
      if (first) {
        rings_.push_back({ring_packings(hops_of(search, node), channels)});
        if (rings_.back().packings.empty()) throw_no_ring(search, node);
      }
      kind_of_.push_back(it->second);
      count_.resize(rings_.size());
      ++count_[it->second];
    }
  }
  [[nodiscard]] const std::vector<NodeRings>& all() const { return rings_; }
  [[nodiscard]] const NodeRings& of(std::size_t node) const { return rings_[kind_of_[node]]; }
  [[nodiscard]] std::size_t nodes_like(std::size_t node) const { return count_[kind_of_[node]]; }

 private:
  static std::vector<int> key(const Search& search, std::size_t node) {
    std::vector<int> key{search.cluster.like_node(search.cluster.node_of(search.gpu(node, 0)))};
    for (int member : search.nodes[node]) key.push_back(search.cluster.position_of(search.gpus[member]));
    return key;
  }

  std::vector<NodeRings> rings_;
  std::vector<std::size_t> kind_of_;
  std::vector<std::size_t> count_;  // nodes of each kind
};

// The rings as they are put together, node by node. The search judges a node as if all nodes were like it;
// where neighbours differ (one has a slow NIC, say), the way between them may be another than either was
// judged by. There the node's order is turned until the way from the previous node, through it and on to the
// next one is as wide as it can be beside the rings that are there already.
class RingsAcrossNodes {
 public:
  RingsAcrossNodes(const Search& search, const KindsOfNodes& kinds, int channels)
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

  const Search& search_;
  const KindsOfNodes& kinds_;
  int channels_;
  std::unordered_map<int, double> rings_on_;  // by link, of the ways around nodes that differ
};

}  // namespace

std::vector<std::vector<int>> find_rings(const Cluster& cluster, std::span<const int> gpus,
                                         std::optional<int> channels) {
  DDPSIM_CHECK(gpus.size() >= 2, "a ring has at least two GPUs");
  DDPSIM_CHECK(!channels || *channels >= 1, "no rings asked for");
  Search search{cluster, gpus, by_node(cluster, gpus)};
  KindsOfNodes kinds(search, channels);
  int count = channels ? *channels : best_channels(kinds.all());
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

}  // namespace ddpsim
