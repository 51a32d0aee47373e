#pragma once
// Shortest ways through a small directed graph: fewest links, then widest, then always the same one.
#include <optional>
#include <vector>

#include "sim/topology/cluster.hpp"

namespace ddpsim {

struct WayGraph {
  struct Edge {
    int from;
    int to;
    int link;  // -1: plugged into each other, which costs nothing and appears in no route
    Link figures = {};
  };
  std::vector<Edge> edges;
  std::vector<char> forwards;  // of each vertex: whether a way may pass through it
};

// The way from `source` to every vertex; nullopt where there is none. The way to `source` itself has no links
// and an infinite bandwidth.
std::vector<std::optional<Route>> shortest_ways(const WayGraph& graph, int source);

// Whether one way is better than another: shorter, or as short and wider.
bool better_way(std::size_t links, BytesPerSecond bandwidth, std::size_t other_links,
                BytesPerSecond other_bandwidth);

// No links, no latency and no limit.
Route to_itself();

// One way and then another.
Route joined(const Route& first, const Route& second);

}  // namespace ddpsim
