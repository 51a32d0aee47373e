#pragma once
// Groups of ranks for tests of the collective algorithms, and what a schedule makes each rank send.
#include <algorithm>
#include <map>
#include <numeric>
#include <random>
#include <vector>

#include "sim/collective/algorithms.hpp"

namespace ddpsim::testing {

// Nodes of these sizes, ranks numbered node by node; every ordered pair of ranks has a link of its own, and
// each rank one to its node's switch and one from it.
inline Wiring wiring_of(const std::vector<int>& node_sizes) {
  Wiring wiring;
  for (int size : node_sizes) {
    wiring.nodes.emplace_back(size);
    std::iota(wiring.nodes.back().begin(), wiring.nodes.back().end(), wiring.ranks);
    wiring.ranks += size;
  }
  int n = wiring.ranks;
  wiring.path = [n](int from, int to) {
    return Path{{from * n + to}, Seconds(5e-6), BytesPerSecond(12.5e9)};
  };
  wiring.to_switch = [n](int rank) { return Path{{n * n + 2 * rank}, Seconds(1e-6), BytesPerSecond(450e9)}; };
  wiring.from_switch = [n](int rank) {
    return Path{{n * n + 2 * rank + 1}, Seconds(1e-6), BytesPerSecond(450e9)};
  };
  return wiring;
}

// `nodes` nodes of `size` ranks.
inline Wiring wiring_of(int nodes, int size) {
  return wiring_of(std::vector<int>(nodes, size));
}

// Cycles over 0 ... n-1 in different orders; the first ascends.
inline std::vector<std::vector<int>> some_orders(int n, int channels) {
  std::vector<std::vector<int>> orders;
  std::mt19937_64 random(1);
  std::vector<int> order(n);
  std::iota(order.begin(), order.end(), 0);
  for (int c = 0; c < channels; ++c) {
    orders.push_back(order);
    std::shuffle(order.begin(), order.end(), random);
  }
  return orders;
}

// One ring a channel through the nodes one after the other. Channel c enters a node of g ranks at local
// position c g / channels and goes on in cyclic order, as rings over NICs of their own do.
inline CollectiveSchedule turned_chain_tree(const Wiring& wiring, int channels) {
  std::vector<std::vector<int>> orders(static_cast<std::size_t>(channels));
  for (int c = 0; c < channels; ++c)
    for (const auto& ranks : wiring.nodes)
      for (std::size_t i = 0; i < ranks.size(); ++i)
        orders[c].push_back(ranks[(c * ranks.size() / channels + i) % ranks.size()]);
  return chain_tree(wiring, orders);
}

// Bytes over each link of `schedule` for a buffer of `bytes`: every edge sends its piece of the chunk in each
// of its steps.
inline std::map<int, double> bytes_by_link(const CollectiveSchedule& schedule, Bytes bytes) {
  std::map<int, double> by_link;
  for (const auto& stage : schedule.stages)
    for (const auto& channel : stage.channels)
      for (const auto& edge : channel.edges) {
        double sent = chunking_of(channel, stage.operation).steps(bytes) *
                      chunking_of(channel, stage.operation).chunk(bytes).value() / edge.piece.of;
        for (int link : edge.route) by_link[link] += sent;
      }
  return by_link;
}

// What rank `from` sends to ranks for which `counts(from, to)`, in a wiring_of these.
inline double bytes_sent(const CollectiveSchedule& schedule, const Wiring& wiring, int from, Bytes bytes,
                         auto counts) {
  double sum = 0;
  for (auto [link, sent] : bytes_by_link(schedule, bytes))
    if (link < wiring.ranks * wiring.ranks && link / wiring.ranks == from &&
        counts(from, link % wiring.ranks))
      sum += sent;
  return sum;
}

inline double bytes_sent(const CollectiveSchedule& schedule, const Wiring& wiring, int from, Bytes bytes) {
  return bytes_sent(schedule, wiring, from, bytes, [](int, int) { return true; });
}

}  // namespace ddpsim::testing
