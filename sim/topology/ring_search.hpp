#pragma once
// Rings through the GPUs of one node (the members), such that no link carries more than it can.
#include <optional>
#include <vector>

#include "sim/base/units.hpp"

namespace ddpsim {

// Which links each hop of a ring would occupy.
struct RingHops {
  using Hop = std::optional<std::vector<int>>;  // indexes into `bandwidth`; nullopt: no way

  int members = 0;
  bool closed = true;      // the ring stays in this node; otherwise it leaves to another and comes back
  std::vector<Hop> inner;  // from one member to another
  std::vector<Hop>
      closing;  // from the last member of a path to its first: within the node, or through others
  std::vector<BytesPerSecond> bandwidth;  // of each link

  [[nodiscard]] std::size_t at(int from, int to) const {
    return static_cast<std::size_t>(from) * static_cast<std::size_t>(members) + static_cast<std::size_t>(to);
  }
};

using Orders = std::vector<std::vector<int>>;  // of members, one a ring

// At most `limit` rings, every hop of which can have `width` at the same time: the first such rings in the
// members' order. Depth first, taking rings back that leave no room for more; gives up after a fixed number
// of steps without another ring.
Orders pack_rings(const RingHops& hops, BytesPerSecond width, int limit);

// Packings of rings at different widths, for choosing between few wide and many narrow ones.
struct Packing {
  BytesPerSecond width;  // of each ring
  Orders rings;
};
// Those with the most bandwidth together come with every number of rings; `exactly`: at least so many rings
// if there are any at all, the widest ones first.
std::vector<Packing> ring_packings(const RingHops& hops, std::optional<int> exactly);

}  // namespace ddpsim
