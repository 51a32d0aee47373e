#include "sim/topology/node_rings.hpp"

#include <algorithm>
#include <map>
#include <unordered_map>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/topology/ring_cut.hpp"

namespace ddpsim {
namespace {

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
RingHops hops_of(const RingSearch& search, std::size_t node) {
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

std::string names_of(const RingSearch& search, std::size_t node, const std::vector<int>& members) {
  std::vector<std::string> names;
  for (int member : members) names.push_back(search.cluster.gpu_name(search.gpu(node, member)));
  return fmt::format("{}", fmt::join(names, ", "));
}

// Within one node. A pair without a way may be the fault of a broken link: then its error says more.
[[noreturn]] void throw_no_ring_within(const RingSearch& search, std::size_t node, const RingHops& hops) {
  auto cut = find_ring_cut(hops);
  const char* hint = "add links, or use another algorithm: GPUs do not forward for others";
  if (!cut || cut->members.empty()) {
    for (int member = 0; member < hops.members; ++member)
      (void)search.cluster.route(search.gpu(node, member), search.gpu(node, (member + 1) % hops.members));
    throw InputError("no ring leads through all GPUs of a node", hint);
  }
  std::vector<std::string> parts;
  for (const auto& part : cut->parts) parts.push_back("{" + names_of(search, node, part) + "}");
  bool one = cut->members.size() == 1;
  throw InputError(fmt::format("no ring leads through all GPUs: only {} join{} {}",
                               names_of(search, node, cut->members), one ? "s" : "", fmt::join(parts, ", ")),
                   hint);
}

// Between nodes: the error of the first pair without a route in the order given.
[[noreturn]] void throw_no_ring(const RingSearch& search, std::size_t node, const RingHops& hops) {
  if (hops.closed) throw_no_ring_within(search, node, hops);
  int members = static_cast<int>(search.nodes[node].size());
  for (int member = 0; member + 1 < members; ++member)
    (void)search.cluster.route(search.gpu(node, member), search.gpu(node, member + 1));
  (void)search.cluster.route(search.gpu(node, members - 1), search.gpu(node + 1, 0));
  std::size_t previous = (node + search.nodes.size() - 1) % search.nodes.size();
  int last = static_cast<int>(search.nodes[previous].size()) - 1;
  (void)search.cluster.route(search.gpu(previous, last), search.gpu(node, 0));
  throw InputError("no ring leads through all GPUs of a node", "add links, or use another algorithm");
}

// Nodes of one key have the same ways between the same members.
std::vector<int> key_of(const RingSearch& search, std::size_t node) {
  std::vector<int> key{search.cluster.like_node(search.cluster.node_of(search.gpu(node, 0)))};
  for (int member : search.nodes[node]) key.push_back(search.cluster.position_of(search.gpus[member]));
  return key;
}

}  // namespace

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

const Packing* NodeRings::with(int channels) const {
  const Packing* best = nullptr;
  for (const auto& packing : packings)
    if (static_cast<int>(packing.rings.size()) >= channels && (!best || packing.width > best->width))
      best = &packing;
  return best;
}

int NodeRings::most_channels() const {
  std::size_t most = 0;
  for (const auto& packing : packings) most = std::max(most, packing.rings.size());
  return static_cast<int>(most);
}

const std::vector<int>& NodeRings::ring(int channel, int channels) const {
  const Packing* packing = with(std::min(channels, most_channels()));
  return packing->rings[static_cast<std::size_t>(channel) % packing->rings.size()];
}

KindsOfNodes::KindsOfNodes(const RingSearch& search, std::optional<int> channels) {
  std::map<std::vector<int>, std::size_t> known;
  for (std::size_t node = 0; node < search.nodes.size(); ++node) {
    auto [it, first] = known.try_emplace(key_of(search, node), rings_.size());
    if (first) {
      auto hops = hops_of(search, node);
      rings_.push_back({ring_packings(hops, channels)});
      if (rings_.back().packings.empty()) throw_no_ring(search, node, hops);
    }
    kind_of_.push_back(it->second);
    count_.resize(rings_.size());
    ++count_[it->second];
  }
}

int KindsOfNodes::best_channels() const {
  int most = rings_.front().most_channels();
  for (const auto& kind : rings_) most = std::min(most, kind.most_channels());
  int best = 1;
  BytesPerSecond best_total(0);
  for (int channels = 1; channels <= most; ++channels) {
    BytesPerSecond total = rings_.front().with(channels)->width * channels;
    for (const auto& kind : rings_) total = std::min(total, kind.with(channels)->width * channels);
    if (total > best_total * (1 + 1e-9)) {
      best = channels;
      best_total = total;
    }
  }
  return best;
}

}  // namespace ddpsim
