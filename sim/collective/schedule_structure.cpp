#include "sim/collective/schedule_structure.hpp"

#include <algorithm>
#include <cstdint>
#include <map>
#include <set>
#include <utility>

#include <fmt/core.h>

namespace ddpsim {
namespace {

using Error = std::optional<std::string>;

bool within_bounds(Part part) {
  return part.of >= 1 && part.index >= 0 && part.count >= 1 && part.index + part.count <= part.of;
}

bool overlap(Part a, Part b) {
  auto starts_before_end = [](Part x, Part y) {
    return std::int64_t{x.index} * y.of < (std::int64_t{y.index} + y.count) * x.of;
  };
  return starts_before_end(a, b) && starts_before_end(b, a);
}

Error find_ring_error(const CollectiveSchedule& schedule, const Channel& ring) {
  auto n = ring.edges.size();
  if (n < 2) return fmt::format("a ring of {} edges", n);
  for (std::size_t i = 0; i < n; ++i)
    if (int from = ring.edges[i].from; from < 0 || from >= schedule.ranks)
      return fmt::format("edge {} starts at rank {} of {}", i, from, schedule.ranks);
  for (std::size_t i = 0; i < n; ++i)
    if (ring.edges[i].to != ring.edges[(i + 1) % n].from)
      return fmt::format("edge {} does not lead into the next", i);
  std::set<int> visited;
  for (const auto& edge : ring.edges)
    if (!visited.insert(edge.from).second) return fmt::format("the ring visits rank {} twice", edge.from);
  return std::nullopt;
}

Error find_edge_error(const CollectiveSchedule& schedule, const Channel& pipeline, std::size_t e) {
  const Edge& edge = pipeline.edges[e];
  int n_edges = static_cast<int>(pipeline.edges.size());
  if (edge.from < 0 || edge.to < 0)
    return fmt::format("edge {} leads from {} to {}", e, vertex_name(schedule, edge.from),
                       vertex_name(schedule, edge.to));
  if (edge.from == edge.to)
    return fmt::format("edge {} leads from {} to itself", e, vertex_name(schedule, edge.from));
  if (!within_bounds(edge.piece))
    return fmt::format("edge {} carries piece {} of {}", e, edge.piece.index, edge.piece.of);
  for (int input : edge.inputs) {
    if (input < 0 || input >= n_edges)
      return fmt::format("edge {} waits for edge {} of {}", e, input, n_edges);
    if (pipeline.edges[input].to != edge.from)
      return fmt::format("edge {} waits for edge {}, which leads to {}, not to {}", e, input,
                         vertex_name(schedule, pipeline.edges[input].to), vertex_name(schedule, edge.from));
  }
  return std::nullopt;
}

// By edge and edge: whether the first waits for the second, directly or not.
using Waits = std::vector<std::vector<bool>>;

Waits transitive_waits(const Channel& pipeline, const std::vector<int>& order) {
  auto n = pipeline.edges.size();
  Waits waits(n, std::vector<bool>(n, false));
  for (int e : order)
    for (int input : pipeline.edges[e].inputs) {
      waits[e][input] = true;
      for (std::size_t i = 0; i < n; ++i)
        if (waits[input][i]) waits[e][i] = true;
    }
  return waits;
}

// A vertex's chunk must not depend on which of two edges is faster: one that fills it and one that passes it
// on, or two that fill it (sums may arrive in any order).
Error find_race(const CollectiveSchedule& schedule, const Channel& pipeline, const Waits& waits) {
  const auto& edges = pipeline.edges;
  for (std::size_t b = 0; b < edges.size(); ++b)
    for (std::size_t a = 0; a < edges.size(); ++a) {
      if (a == b || waits[a][b] || waits[b][a] || !overlap(edges[a].piece, edges[b].piece)) continue;
      if (edges[a].to == edges[b].from)
        return fmt::format("edge {} may pass on a chunk before edge {} has delivered it to {}", b, a,
                           vertex_name(schedule, edges[b].from));
      if (edges[a].to == edges[b].to && !(edges[a].reduce && edges[b].reduce))
        return fmt::format("edges {} and {} may deliver the same chunk to {} in either order", std::min(a, b),
                           std::max(a, b), vertex_name(schedule, edges[b].to));
    }
  return std::nullopt;
}

int longest_path(const Channel& pipeline, const std::vector<int>& order) {
  std::vector<int> depth(pipeline.edges.size(), 1);
  int longest = 0;
  for (int e : order) {
    for (int input : pipeline.edges[e].inputs) depth[e] = std::max(depth[e], depth[input] + 1);
    longest = std::max(longest, depth[e]);
  }
  return longest;
}

Error find_pipeline_error(const CollectiveSchedule& schedule, const Channel& pipeline) {
  if (pipeline.edges.empty()) return "a pipeline without edges";
  for (std::size_t e = 0; e < pipeline.edges.size(); ++e)
    if (auto error = find_edge_error(schedule, pipeline, e)) return error;
  auto order = delivery_order(pipeline);
  if (order.size() < pipeline.edges.size())
    return fmt::format("{} edges wait for each other", pipeline.edges.size() - order.size());
  if (auto error = find_race(schedule, pipeline, transitive_waits(pipeline, order))) return error;
  if (int longest = longest_path(pipeline, order); longest != pipeline.depth)
    return fmt::format("its longest path has {} edges, its depth says {}", longest, pipeline.depth);
  return std::nullopt;
}

// Ranks send at once: no edge waits, and what two of them deliver to one rank is added up or is of different
// pieces.
Error find_round_error(const CollectiveSchedule& schedule, const Channel& exchange) {
  if (exchange.edges.empty()) return "an exchange without edges";
  std::map<int, std::vector<const Edge*>> arriving;
  for (std::size_t e = 0; e < exchange.edges.size(); ++e) {
    const Edge& edge = exchange.edges[e];
    if (auto error = find_edge_error(schedule, exchange, e)) return error;
    if (edge.from >= schedule.ranks || edge.to >= schedule.ranks || !edge.inputs.empty())
      return fmt::format("edge {} of an exchange does more than send from rank to rank", e);
    for (const Edge* other : arriving[edge.to])
      if (overlap(other->piece, edge.piece) && !(other->reduce && edge.reduce))
        return fmt::format("ranks {} and {} deliver the same piece to rank {}", other->from, edge.from,
                           edge.to);
    arriving[edge.to].push_back(&edge);
  }
  if (exchange.depth != 1) return fmt::format("an exchange of depth {}", exchange.depth);
  return std::nullopt;
}

// Every rank sends each other rank that rank's piece, once, and waits for nothing.
Error find_exchange_error(const CollectiveSchedule& schedule) {
  std::map<std::pair<int, int>, int> sent;
  for (const auto& stage : schedule.stages)
    for (const auto& channel : stage.channels)
      for (const auto& edge : channel.edges) {
        if (edge.from >= schedule.ranks || edge.to >= schedule.ranks || edge.reduce || !edge.inputs.empty())
          return fmt::format("the edge from {} to {} does more than send", vertex_name(schedule, edge.from),
                             vertex_name(schedule, edge.to));
        if (channel.part.of != 1 || edge.piece.of != schedule.ranks || edge.piece.index != edge.to)
          return fmt::format("rank {} sends rank {} piece {} of {}", edge.from, edge.to, edge.piece.index,
                             edge.piece.of * channel.part.of);
        ++sent[{edge.from, edge.to}];
      }
  for (int from = 0; from < schedule.ranks; ++from)
    for (int to = 0; to < schedule.ranks; ++to)
      if (int times = from == to ? 1 : sent[{from, to}]; times != 1)
        return fmt::format("rank {} sends rank {} its piece {} times", from, to, times);
  return std::nullopt;
}

}  // namespace

std::vector<int> delivery_order(const Channel& pipeline) {
  auto n = pipeline.edges.size();
  std::vector<std::vector<int>> followers(n);
  std::vector<std::size_t> waiting_for(n);
  std::vector<int> order;
  order.reserve(n);
  for (std::size_t e = 0; e < n; ++e) {
    waiting_for[e] = pipeline.edges[e].inputs.size();
    if (waiting_for[e] == 0) order.push_back(static_cast<int>(e));
    for (int input : pipeline.edges[e].inputs) followers[input].push_back(static_cast<int>(e));
  }
  for (std::size_t done = 0; done < order.size(); ++done)
    for (int follower : followers[order[done]])
      if (--waiting_for[follower] == 0) order.push_back(follower);
  return order;
}

bool is_in_rounds(const CollectiveSchedule& schedule) {
  return !schedule.stages.empty() && schedule.stages[0].channels[0].pattern == Pattern::exchange;
}

std::string vertex_name(const CollectiveSchedule& schedule, int vertex) {
  return vertex < schedule.ranks ? fmt::format("rank {}", vertex)
                                 : fmt::format("switch {}", vertex - schedule.ranks);
}

std::optional<std::string> find_structure_error(const CollectiveSchedule& schedule) {
  if (is_exchange(schedule.operation) && !is_in_rounds(schedule)) return find_exchange_error(schedule);
  for (std::size_t s = 0; s < schedule.stages.size(); ++s)
    for (std::size_t c = 0; c < schedule.stages[s].channels.size(); ++c) {
      const Channel& channel = schedule.stages[s].channels[c];
      auto find_error = channel.pattern == Pattern::ring       ? find_ring_error
                        : channel.pattern == Pattern::exchange ? find_round_error
                                                               : find_pipeline_error;
      Error error = find_error(schedule, channel);
      if (!within_bounds(channel.part))
        error = fmt::format("part {} of {} of the buffer", channel.part.index, channel.part.of);
      if (error) return fmt::format("stage {}, channel {}: {}", s, c, *error);
    }
  return std::nullopt;
}

}  // namespace ddpsim
