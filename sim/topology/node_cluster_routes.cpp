// A route between nodes has three parts: out of the first node into one of its NICs, across the fabric (there
// is one way from NIC to NIC), from a NIC of the other node to the GPU. The first and the last are known for
// each kind of node; what is left is to choose the NICs.
#include <algorithm>
#include <cstdint>
#include <initializer_list>
#include <limits>

#include "sim/topology/node_cluster.hpp"
#include "sim/topology/shortest_ways.hpp"

namespace ddpsim {
namespace {

// The finalizer of SplitMix64, after which each bit of the value has changed about half of the others
// (Steele, Lea and Flood, "Fast splittable pseudorandom number generators", OOPSLA 2014).
std::uint64_t mixed(std::uint64_t value) {
  value += 0x9E3779B97F4A7C15U;
  value = (value ^ (value >> 30U)) * 0xBF58476D1CE4E5B9U;
  value = (value ^ (value >> 27U)) * 0x94D049BB133111EBU;
  return value ^ (value >> 31U);
}

// Of a part of a flow.
std::uint64_t flow_hash(std::uint64_t seed, std::initializer_list<int> flow, int part) {
  auto hash = mixed(seed);
  for (int one : flow) hash = mixed(hash ^ static_cast<std::uint64_t>(one));
  return part == 0 ? hash : mixed(hash ^ static_cast<std::uint64_t>(part));
}

}  // namespace

int NodeCluster::crossing_links(int from, int from_nic, int to, int to_nic) const {
  if (tree_) {
    auto climb = tree_->between(tree_->leaf_of(from, from_nic), tree_->leaf_of(to, to_nic));
    return climb ? climb->links() + 2 : 0;
  }
  bool next = plan_->fabric.kind == Fabric::Kind::ring && (from + 1) % nodes_ == to;
  return next && from_nic == to_nic ? 1 : 0;
}

// Of the cables that are not broken on either way, the one that the hash falls on or the next: switches leave
// dead cables out of their groups.
int NodeCluster::cable_of(std::uint64_t flow, int from_switch, int to_switch, bool whole) const {
  int cables = tree_->cables(from_switch);
  auto hashed = static_cast<int>(flow % static_cast<std::uint64_t>(cables));
  for (int i = 0; i < cables && !whole; ++i) {
    int cable = (hashed + i) % cables;
    if (!changes_.broken(fabric_base_ + tree_->up(from_switch, cable)) &&
        !changes_.broken(fabric_base_ + tree_->down(to_switch, cable)))
      return cable;
  }
  return hashed;
}

// What goes up by a switch's cable i comes down by cable i: each leads to another switch above.
NodeCluster::Crossing NodeCluster::crossing(int from, int from_nic, int to, int to_nic, bool whole,
                                            int hash) const {
  Crossing crossing;
  crossing.links[crossing.count++] = *nic_out(from, from_nic);
  if (!tree_) return crossing;
  auto climb = tree_->between(tree_->leaf_of(from, from_nic), tree_->leaf_of(to, to_nic));
  for (int level = 0; level < climb->levels; ++level) {
    int above = climb->from[level], below = climb->to[level];
    int cable = hashing_ ? cable_of(flow_hash(hashing_->seed, {level, from, from_nic, to, to_nic}, hash),
                                    above, below, whole)
                         : 0;
    crossing.links[1 + level] = fabric_base_ + tree_->up(above, cable);
    crossing.links[climb->links() - level] = fabric_base_ + tree_->down(below, cable);
  }
  crossing.links[climb->links() + 1] = *nic_in(to, to_nic);
  crossing.count = climb->links() + 2;
  return crossing;
}

std::vector<int> NodeCluster::of_hash(std::span<const int> route, int hash) const {
  std::vector<int> links(route.begin(), route.end());
  auto first = std::find_if(links.begin(), links.end(), [&](int link) { return link >= fabric_base_; });
  if (hash == 0 || first == links.end()) return links;
  auto last = std::find_if(first, links.end(), [&](int link) { return link < fabric_base_; });
  auto nic_of = [&](int link) {  // cables come after a node's own links, out and in of each NIC
    auto [node, id] = local(link);
    return std::pair(node, (id - static_cast<int>(model(node).wires.size())) / 2);
  };
  auto [from, from_nic] = nic_of(*std::prev(first));
  auto [to, to_nic] = nic_of(*last);
  auto across = crossing(from, from_nic, to, to_nic, false, hash);
  std::copy(across.links, across.links + across.count, std::prev(first));
  return links;
}

std::optional<BytesPerSecond> NodeCluster::usable(const Crossing& crossing, bool whole) const {
  BytesPerSecond narrowest(std::numeric_limits<double>::infinity());
  for (int i = 0; i < crossing.count; ++i) {
    if (!whole && changes_.broken(crossing.links[i])) return std::nullopt;
    narrowest = std::min(narrowest, link(crossing.links[i]).bandwidth);
  }
  return narrowest;
}

// The best choice of two NICs so far. The first of equals stays.
struct NodeCluster::Chosen {
  std::size_t links = std::numeric_limits<std::size_t>::max();
  BytesPerSecond bandwidth = {};
  const Route* out = nullptr;
  const Route* in = nullptr;
  Crossing across = {};
};

NodeCluster::Chosen NodeCluster::choose_nics(int from_gpu, int to_gpu, bool whole) const {
  int from = node_of(from_gpu), to = node_of(to_gpu);
  int sender = from_gpu % gpus_per_node_, receiver = to_gpu % gpus_per_node_;
  const auto& from_ways = ways(from, whole);
  const auto& to_ways = ways(to, whole);
  Chosen best;
  const auto& from_model = model(from);
  const auto& to_model = model(to);
  if (from_model.nics == 0 || to_model.nics == 0) return best;
  // No two NICs are closer than two of the same rail.
  auto least = static_cast<std::size_t>(crossing_links(from, 0, to, 0));
  if (least == 0) return best;
  auto consider = [&](int out_nic, int in_nic) {
    const auto& out = from_ways.out(sender, out_nic);
    const auto& in = to_ways.in(in_nic, receiver);
    if (!out || !in || out->links.size() + least + in->links.size() > best.links) return;
    int hops = crossing_links(from, out_nic, to, in_nic);
    auto links = out->links.size() + static_cast<std::size_t>(hops) + in->links.size();
    if (hops == 0 || links > best.links) return;
    auto across = crossing(from, out_nic, to, in_nic, whole);
    auto width = usable(across, whole);
    if (!width) return;
    auto bandwidth = std::min({out->bandwidth, *width, in->bandwidth});
    if (better_way(links, bandwidth, best.links, best.bandwidth))
      best = {links, bandwidth, &*out, &*in, across};
  };
  int own = from_model.affinity[sender], peers = to_model.affinity[receiver];
  // Among equals: change GPUs on the sender's side rather than climb to a spine, as NCCL does; but rather
  // climb than change GPUs on both sides.
  if (peers < from_model.nics) consider(peers, peers);
  if (own < to_model.nics) consider(own, own);
  consider(own, peers);
  for (int nic = 0; nic < std::min(from_model.nics, to_model.nics); ++nic) consider(nic, nic);
  for (int out_nic = 0; out_nic < from_model.nics; ++out_nic) {
    const auto& out = from_ways.out(sender, out_nic);
    if (!out || out->links.size() + least + 1 > best.links) continue;  // the way in has a link at least
    for (int in_nic = 0; in_nic < to_model.nics; ++in_nic) consider(out_nic, in_nic);
  }
  return best;
}

std::optional<Route> NodeCluster::search_across(int from_gpu, int to_gpu, bool whole) const {
  auto best = choose_nics(from_gpu, to_gpu, whole);
  if (!best.out) return std::nullopt;
  Route route{{}, Seconds(0), best.bandwidth};
  route.links.reserve(best.links);
  append_moved(route, *best.out, first_link(node_of(from_gpu)));
  for (int i = 0; i < best.across.count; ++i) {
    route.links.push_back(best.across.links[i]);
    route.latency += link(best.across.links[i]).latency;
  }
  append_moved(route, *best.in, first_link(node_of(to_gpu)));
  return route;
}

void NodeCluster::append_moved(Route& route, const Route& way, int first_link) const {
  for (int link : way.links) route.links.push_back(first_link + link);
  route.latency += way.latency;
}

std::optional<Route> NodeCluster::search(int from_gpu, int to_gpu, bool whole) const {
  int node = node_of(from_gpu);
  if (node_of(to_gpu) != node) return search_across(from_gpu, to_gpu, whole);
  const auto& way = ways(node, whole).between(from_gpu % gpus_per_node_, to_gpu % gpus_per_node_);
  if (!way) return std::nullopt;
  Route route{{}, Seconds(0), way->bandwidth};
  append_moved(route, *way, first_link(node));
  return route;
}

std::optional<Route> NodeCluster::through_host(int from_gpu, int to_gpu) const {
  int node = node_of(from_gpu);
  auto way = ways(node, false).through_host(from_gpu % gpus_per_node_, to_gpu % gpus_per_node_);
  if (!way) return std::nullopt;
  Route route{{}, Seconds(0), way->bandwidth};
  append_moved(route, *way, first_link(node));
  return route;
}

std::optional<Route> NodeCluster::find_route(int from_gpu, int to_gpu) const {
  return search(from_gpu, to_gpu, false);
}

Route NodeCluster::route(int from_gpu, int to_gpu) const {
  if (auto found = search(from_gpu, to_gpu, false)) return *std::move(found);
  if (auto whole = search(from_gpu, to_gpu, true)) changes_.throw_no_way(*this, *whole, from_gpu, to_gpu);
  throw_no_way(*this, from_gpu, to_gpu);
}

}  // namespace ddpsim
