#include "sim/cost/nccl_communicator.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>
#include <unordered_map>
#include <vector>

#include "sim/cost/communication.hpp"
#include "sim/cost/nccl_ways.hpp"
#include "sim/cost/network_heads.hpp"
#include "sim/nccl/constants.hpp"
#include "sim/topology/rings.hpp"

namespace ddpsim {
namespace {

struct Hop {
  Route route;
  bool within_node;
};
using Ring = std::vector<Hop>;

Ring ring_in_order(const Cluster& cluster, std::span<const int> gpus, const std::vector<int>& order) {
  Ring ring;
  for (std::size_t i = 0; i < order.size(); ++i) {
    int from = gpus[static_cast<std::size_t>(order[i])];
    int to = gpus[static_cast<std::size_t>(order[(i + 1) % order.size()])];
    ring.push_back({cluster.route(from, to), cluster.node_of(from) == cluster.node_of(to)});
  }
  return ring;
}

using Orders = std::vector<std::vector<int>>;

std::vector<Ring> rings_in_order(const Cluster& cluster, std::span<const int> gpus, const Orders& orders) {
  std::vector<Ring> rings;
  for (const auto& order : orders) rings.push_back(ring_in_order(cluster, gpus, order));
  return rings;
}

std::vector<Ring> rings_over(const Cluster& cluster, std::span<const int> gpus) {
  return rings_in_order(cluster, gpus, find_rings(cluster, gpus, std::nullopt));
}

// What each ring gets of the links when all are in use, in GB/s, with NVLink counted at some share of what
// the topology says. NCCL's search has a ring leave a node through its last GPU's own NIC (NCCL_CROSS_NIC=2),
// so that NVLink carries one hop less of it than it has GPUs: `forwards` counts what goes to another GPU's
// NIC, too.
class RingBandwidths {
 public:
  RingBandwidths(const Cluster& cluster, const std::vector<Ring>& rings, double nvlink_share,
                 bool forwards = true)
      : cluster_(cluster), rings_(rings), nvlink_share_(nvlink_share), forwards_(forwards) {
    for (const auto& ring : rings)
      for (const auto& hop : ring)
        for (int link : hop.route.links) uses_[link] += is_counted(hop, link);
  }

  // Over the links that count.
  template <class Counts>
  [[nodiscard]] std::vector<double> over(Counts counts) const {
    std::vector<double> bandwidths;
    for (const auto& ring : rings_) {
      double narrowest = std::numeric_limits<double>::infinity();
      for (const auto& hop : ring)
        for (int link : hop.route.links)
          if (counts(link) && is_counted(hop, link)) narrowest = std::min(narrowest, of_use(link));
      bandwidths.push_back(narrowest);
    }
    return bandwidths;
  }
  [[nodiscard]] std::vector<double> all() const {
    return over([](int) { return true; });
  }

 private:
  [[nodiscard]] bool is_counted(const Hop& hop, int link) const {
    return forwards_ || hop.within_node || cluster_.cable(link).medium != Medium::nvlink;
  }
  [[nodiscard]] double of_use(int link) const {
    double share = cluster_.cable(link).medium == Medium::nvlink ? nvlink_share_ : 1;
    return share * cluster_.link(link).bandwidth.value() / 1e9 / uses_.at(link);
  }

  const Cluster& cluster_;
  const std::vector<Ring>& rings_;
  double nvlink_share_;
  bool forwards_;
  std::unordered_map<int, int> uses_;  // by link
};

double sum(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0);
}

bool all_alike(const Orders& orders) {
  return std::all_of(orders.begin(), orders.end(),
                     [&](const auto& order) { return order == orders.front(); });
}

bool stays_on_nvlink(const Cluster& cluster, const std::vector<Ring>& rings) {
  auto is_other = [&](int link) { return cluster.cable(link).medium != Medium::nvlink; };
  for (const auto& ring : rings)
    for (const auto& hop : ring)
      if (hop.within_node && std::any_of(hop.route.links.begin(), hop.route.links.end(), is_other))
        return false;
  return true;
}

nccl::Graph simple_order(const Cluster& cluster, std::span<const int> gpus, double nvlink_share) {
  std::vector<Ring> ring{ring_in_order(cluster, gpus, simple_ring_order(cluster, gpus))};
  return nccl::simple_order(RingBandwidths(cluster, ring, nvlink_share).all().front());
}

// Whether its node has more GPUs than a host, in use or not, on NVLink switches.
bool is_in_rack(const Cluster& cluster, int gpu) {
  int end = gpu;
  while (end < cluster.gpus() && cluster.node_of(end) == cluster.node_of(gpu)) ++end;
  return cluster.to_switch(gpu) && cluster.position_of(gpu) + end - gpu > nccl::kMostGpusOfHost;
}

// The rings' hops within nodes that leave NVLink; nullopt: there is none.
std::optional<nccl::Pcie> pcie_of_hops(const Cluster& cluster, const std::vector<Ring>& rings,
                                       const nccl::PcieRule& rule, int gpus_of_node) {
  auto farthest = nccl::PathLevel::none;
  BytesPerSecond slot(std::numeric_limits<double>::infinity());
  for (const auto& ring : rings)
    for (const auto& hop : ring) {
      auto level = path_level(cluster, hop.route);
      if (!level) continue;
      farthest = std::max(farthest, *level);
      for (int link : hop.route.links)
        if (auto medium = cluster.cable(link).medium; medium >= Medium::pcie && medium < Medium::socket)
          slot = std::min(slot, cluster.link(link).bandwidth);
    }
  if (farthest == nccl::PathLevel::none) return std::nullopt;
  return nccl::pcie_of(rule, gpus_of_node, farthest, slot);
}

// The ways inside nodes of a hop between two: from the GPU to its NIC, and from the other's to that GPU.
std::array<std::vector<int>, 2> ways_to_nics(const Cluster& cluster, const Route& hop) {
  auto is_network = [&](int link) { return cluster.cable(link).medium == Medium::network; };
  auto first = std::find_if(hop.links.begin(), hop.links.end(), is_network);
  auto last = std::find_if(hop.links.rbegin(), hop.links.rend(), is_network).base();
  return {std::vector<int>(hop.links.begin(), first),
          std::vector<int>(first == hop.links.end() ? hop.links.end() : last, hop.links.end())};
}

// What a ring gets on a way between a GPU and a NIC that cannot read its memory; nullopt: it can.
std::optional<BytesPerSecond> through_host_to_nic(const Cluster& cluster, const std::vector<int>& way,
                                                  const nccl::PcieRule& rule, const NcclPlatform& platform,
                                                  int rings) {
  auto level = path_level(cluster, Route{way, Seconds(0), {}});
  // Nodes whose PCIe nobody describes have NICs near enough, unless it is said.
  if (!level && platform.gpudirect != false) return std::nullopt;
  if (!level) return nccl::host_rate(nccl::chip_of(platform.gpu).pcie_generation);
  if (platform.gpudirect.value_or(*level <= nccl::PathLevel::pxb && rule.driver_allows)) return std::nullopt;
  auto slot = cluster.link(way.front()).bandwidth;
  auto host = rule;
  host.host.level = nccl::PathLevel::none;
  auto pcie = nccl::pcie_of(host, 1, nccl::PathLevel::sys, slot);
  auto rate = pcie.share * slot / rings;
  return pcie.is_interleaved() ? std::min(rate, pcie.flow) : rate;
}

// What all rings get on their way to NICs, those that GPUs' memory is closed to among them; 0: there are
// none. `nics`: what each gets of its NICs, in GB/s.
BytesPerSecond through_host_to_nics(const Cluster& cluster, const std::vector<Ring>& rings,
                                    const std::vector<double>& nics, const nccl::PcieRule& rule,
                                    const NcclPlatform& platform) {
  std::unordered_map<int, int> uses;  // of slots, each way
  for (const auto& ring : rings)
    for (const auto& hop : ring)
      if (!hop.within_node)
        for (const auto& way : ways_to_nics(cluster, hop.route))
          if (!way.empty()) ++uses[way.front()];
  bool is_any = false;
  BytesPerSecond all;
  for (std::size_t r = 0; r < rings.size(); ++r) {
    BytesPerSecond narrowest(nics[r] * 1e9);
    for (const auto& hop : rings[r]) {
      if (hop.within_node) continue;
      for (const auto& way : ways_to_nics(cluster, hop.route)) {
        auto rate = through_host_to_nic(cluster, way, rule, platform, way.empty() ? 1 : uses[way.front()]);
        is_any |= rate.has_value();
        narrowest = std::min(narrowest, rate.value_or(narrowest));
      }
    }
    all += narrowest;
  }
  return is_any ? all : BytesPerSecond(0);
}

// The links that rings leave their first node by: of NICs, or whatever joins it to others.
std::vector<int> nics_out(const Cluster& cluster, const std::vector<Ring>& rings) {
  std::vector<int> nics;
  for (const auto& ring : rings) {
    auto out = std::find_if(ring.begin(), ring.end(), [](const Hop& hop) { return !hop.within_node; });
    const auto& links = out->route.links;
    auto nic = std::find_if(links.begin(), links.end(),
                            [&](int link) { return cluster.cable(link).medium == Medium::network; });
    nics.push_back(nic == links.end() ? links.front() : *nic);
  }
  std::sort(nics.begin(), nics.end());
  nics.erase(std::unique(nics.begin(), nics.end()), nics.end());
  return nics;
}

// What nodes get of one another: over sockets, or by NICs without GPUDirect.
void set_network(const Cluster& cluster, const NcclPlatform& platform, const std::vector<Ring>& rings,
                 const std::vector<double>& nics, const nccl::PcieRule& rule, int gpus_of_node,
                 nccl::Communicator& c) {
  auto peak = sum(nics);
  c.network_peak = BytesPerSecond(std::isfinite(peak) ? peak * 1e9 : 0);
  if (!platform.sockets) {
    if (std::isfinite(peak)) c.network_limit = through_host_to_nics(cluster, rings, nics, rule, platform);
    c.direct_nics = c.network_limit == BytesPerSecond(0);
    return;
  }
  c.sockets = platform.sockets;
  c.direct_nics = false;
  for (int nic : nics_out(cluster, rings)) {
    auto [rate, bound] = nccl::socket_rate(*c.sockets, cluster.link(nic).bandwidth, gpus_of_node);
    c.network_limit += rate;
    c.socket_bound = bound;
  }
  if (!platform.says_nic_latency) c.nic_latency = nccl::kSocketLatency;
}

}  // namespace

std::vector<int> simple_ring_order(const Cluster& cluster, std::span<const int> gpus) {
  std::vector<int> order;
  for (auto node : ranks_by_node(cluster, gpus)) {
    auto number = [gpus](int rank) { return gpus[static_cast<std::size_t>(rank)]; };
    std::sort(node.begin(), node.end(), [&](int a, int b) { return number(a) < number(b); });
    order.insert(order.end(), node.begin(), node.end());
  }
  return order;
}

nccl::Communicator nccl_communicator(const Cluster& hashed, std::span<const int> gpus,
                                     const NcclPlatform& platform, int of_node) {
  const auto& cluster = hashed.without_hashing();  // NCCL knows nothing of cables
  auto nodes = ranks_by_node(cluster, gpus);
  nccl::Communicator communicator;
  communicator.version = platform.version;
  communicator.gpu = platform.gpu;
  communicator.cpu = platform.cpu;
  communicator.tuner_nic_latency = platform.tuner_nic_latency;
  communicator.nic_latency = platform.nic_latency;
  communicator.ranks = static_cast<int>(gpus.size());
  communicator.nodes = static_cast<int>(nodes.size());

  double share = nccl::nvlink_share(platform.version, platform.gpu);
  auto orders = find_rings(cluster, gpus, std::nullopt);
  auto rings = rings_in_order(cluster, gpus, orders);
  communicator.same_channels = all_alike(orders);
  RingBandwidths ring_bandwidths(cluster, rings, share, false);
  auto bandwidths = ring_bandwidths.all();
  auto is_network = [&](int link) { return cluster.cable(link).medium == Medium::network; };
  auto smaller = [](const auto& a, const auto& b) { return a.size() < b.size(); };
  auto node = *std::max_element(nodes.begin(), nodes.end(), smaller);
  for (int& rank : node) rank = gpus[static_cast<std::size_t>(rank)];
  auto node_rings = node.size() > 1 ? rings_over(cluster, node) : std::vector<Ring>{};
  nccl::Wires wires{.rings = bandwidths,
                    .gpu = sum(RingBandwidths(cluster, node_rings, share).all()),
                    .network = ring_bandwidths.over(is_network).front(),
                    .nodes = communicator.nodes,
                    .gpus_per_node = static_cast<int>(node.size())};
  auto ring = nccl::ring_graph(platform.version, platform.gpu, wires);
  communicator.ring = ring ? *ring : simple_order(cluster, gpus, share);
  // Of a simple order NCCL counts every step as one over PCIe.
  communicator.nvlink = communicator.ring.found && stays_on_nvlink(cluster, rings);
  if (!ring) rings = rings_in_order(cluster, gpus, {simple_ring_order(cluster, gpus)});
  communicator.ring_peak = BytesPerSecond(sum(RingBandwidths(cluster, rings, 1).all()) * 1e9);
  communicator.node_peak = BytesPerSecond(sum(RingBandwidths(cluster, node_rings, 1).all()) * 1e9);
  if (communicator.nvlink) communicator.nvlink_peak = communicator.node_peak;
  if (communicator.nodes == 1) communicator.node_peak = communicator.ring_peak;
  nccl::PcieRule rule{platform.version, platform.cpu, platform.driver_peer_to_peer,
                      cluster.pcie_host(gpus.front())};
  auto gpus_of_node = static_cast<int>(node.size());
  if (!communicator.nvlink)
    communicator.pcie = pcie_of_hops(cluster, rings, rule, std::max(gpus_of_node, of_node));
  if (communicator.pcie) {
    NcclWays ways(cluster, communicator);
    auto in_node = rings_in_order(ways, node,
                                  communicator.ring.found ? find_rings(cluster, node, std::nullopt)
                                                          : Orders{simple_ring_order(cluster, node)});
    auto& pcie = *communicator.pcie;
    pcie.ring = BytesPerSecond(sum(RingBandwidths(ways, in_node, 1).all()) * 1e9);
    if (pcie.is_interleaved()) pcie.ring = std::min(pcie.ring, pcie.flow);
  }
  if (communicator.nodes > 1)
    set_network(cluster, platform, rings, RingBandwidths(cluster, rings, 1).over(is_network), rule,
                static_cast<int>(std::min_element(nodes.begin(), nodes.end(), smaller)->size()),
                communicator);
  communicator.tree = nccl::tree_graph(platform.version, platform.gpu, wires, communicator.ring);
  // search.cc: from Hopper on a tree that is not balanced is tried before slower channels, and where each GPU
  // has its own NIC the search finds no balanced one (NCCL 2.27.5's log of H100s,
  // tests/engine/h100_tuner_test.cpp).
  communicator.plain_tree = communicator.nodes > 1 && platform.gpu >= nccl::Gpu::hopper &&
                            rings.size() >= node.size() && platform.version >= nccl::Version{2, 18, 1};
  communicator.joins_racks =
      communicator.nodes > 1 && communicator.nvlink && is_in_rack(cluster, gpus.front());
  // NVLSTree needs as many heads in every node.
  bool alike = std::min_element(nodes.begin(), nodes.end(), smaller)->size() == node.size();
  bool multicast = alike && platform.gpu >= nccl::Gpu::hopper &&
                   std::ranges::all_of(gpus, [&](int gpu) { return cluster.to_switch(gpu).has_value(); });
  if (multicast) communicator.nvls = nccl::nvls_graph(platform.version, platform.gpu, wires);
  if (platform.network_reduces) communicator.collnet_heads = network_heads(cluster, gpus).heads;
  return communicator;
}

}  // namespace ddpsim
