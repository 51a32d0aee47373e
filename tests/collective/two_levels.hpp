#pragma once
// Nodes of eight ranks for tests: NVLink within a node, a NIC a rank between nodes.
#include "sim/collective/algorithms.hpp"
#include "sim/collective/fold.hpp"

#include "tests/collective/wirings.hpp"

namespace ddpsim::testing {

constexpr int kNodeSize = 8;

// Each rank's links: to NVLink, from NVLink, to the network, from the network.
inline Wiring two_levels(int ranks) {
  auto wiring = wiring_of(ranks / kNodeSize, kNodeSize);
  wiring.path = [](int from, int to) {
    if (from / kNodeSize == to / kNodeSize)
      return Path{{4 * from, 4 * to + 1}, Seconds(0.5e-6), BytesPerSecond(200e9)};
    return Path{{4 * from + 2, 4 * to + 3}, Seconds(5e-6), BytesPerSecond(12.5e9)};
  };
  return wiring;
}

inline BytesPerSecond two_level_capacity(int link) {
  return link % 4 < 2 ? BytesPerSecond(200e9) : BytesPerSecond(12.5e9);
}

// One channel, each node's ranks in order.
inline CollectiveSchedule hierarchical_on_two_levels(int ranks) {
  return hierarchical(two_levels(ranks), {std::size_t(ranks / kNodeSize), some_orders(kNodeSize, 1)});
}

}  // namespace ddpsim::testing
