#pragma once
// Nodes for tests: NVLink within a node, which adds up and multicasts, and a NIC a rank between nodes.
#include "sim/collective/algorithms.hpp"
#include "sim/collective/fold.hpp"

#include "tests/collective/wirings.hpp"

namespace ddpsim::testing {

constexpr int kNodeSize = 8;

// Each rank's links: to NVLink, from NVLink, to the network, from the network.
inline Wiring two_levels(const std::vector<int>& node_sizes, Seconds in_node = Seconds(0.5e-6),
                         Seconds between_nodes = Seconds(5e-6)) {
  auto wiring = wiring_of(node_sizes);
  std::vector<int> node_of;
  for (std::size_t node = 0; node < node_sizes.size(); ++node)
    node_of.insert(node_of.end(), std::size_t(node_sizes[node]), static_cast<int>(node));
  wiring.path = [=](int from, int to) {
    if (node_of[from] == node_of[to]) return Path{{4 * from, 4 * to + 1}, in_node, BytesPerSecond(200e9)};
    return Path{{4 * from + 2, 4 * to + 3}, between_nodes, BytesPerSecond(12.5e9)};
  };
  wiring.to_switch = [=](int rank) { return Path{{4 * rank}, in_node, BytesPerSecond(200e9)}; };
  wiring.from_switch = [=](int rank) { return Path{{4 * rank + 1}, in_node, BytesPerSecond(200e9)}; };
  return wiring;
}

// Nodes of eight.
inline Wiring two_levels(int ranks) {
  return two_levels(std::vector<int>(ranks / kNodeSize, kNodeSize));
}

inline BytesPerSecond two_level_capacity(int link) {
  return link % 4 < 2 ? BytesPerSecond(200e9) : BytesPerSecond(12.5e9);
}

// One channel, each node's ranks in order.
inline CollectiveSchedule hierarchical_on_two_levels(int ranks) {
  return hierarchical(two_levels(ranks), {std::size_t(ranks / kNodeSize), some_orders(kNodeSize, 1)});
}

}  // namespace ddpsim::testing
