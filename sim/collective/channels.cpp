#include "sim/collective/channels.hpp"

#include <utility>

#include <fmt/core.h>

#include "sim/base/check.hpp"
#include "sim/base/source.hpp"

namespace ddpsim {

Edge edge_along(Path path, int from, int to) {
  return {from, to, {path.links.begin(), path.links.end()}, path.latency, path.bandwidth};
}

Channel ring_channel(const Wiring& wiring, std::span<const int> ranks, Part part) {
  DDPSIM_CHECK(ranks.size() >= 2, "a ring has at least two ranks");
  Channel channel{Pattern::ring, part, {}};
  channel.edges.reserve(ranks.size());
  for (std::size_t i = 0; i < ranks.size(); ++i) {
    int from = ranks[i], to = ranks[(i + 1) % ranks.size()];
    channel.edges.push_back(edge_along(wiring.path(from, to), from, to));
  }
  return channel;
}

int ranks_per_node(const Wiring& wiring, std::string_view algorithm) {
  DDPSIM_CHECK(!wiring.nodes.empty(), "every rank is in a node");
  auto size = wiring.nodes[0].size();
  for (std::size_t i = 1; i < wiring.nodes.size(); ++i)
    if (wiring.nodes[i].size() != size)
      throw InputError(
          fmt::format("{} needs the same number of ranks in every node; node 0 has {}, node {} has {}",
                      algorithm, size, i, wiring.nodes[i].size()),
          "choose a world size that fills every node, or ring, which takes any");
  return static_cast<int>(size);
}

bool is_permutation_of(std::span<const int> order, int n) {
  if (order.size() != static_cast<std::size_t>(n)) return false;
  std::vector<bool> seen(order.size());
  for (int i : order) {
    if (i < 0 || i >= n || seen[i]) return false;
    seen[i] = true;
  }
  return true;
}

}  // namespace ddpsim
