// What ranks send one another directly.
#include <utility>

#include "sim/base/check.hpp"
#include "sim/collective/algorithms.hpp"
#include "sim/collective/channels.hpp"

namespace ddpsim {
namespace {

CollectiveSchedule directly(Operation operation, int ranks, Channel channel) {
  CollectiveSchedule schedule{"direct", operation, ranks, {}};
  if (channel.edges.empty()) return schedule;
  Stage stage{operation, {}};
  stage.channels.push_back(std::move(channel));
  schedule.stages.push_back(std::move(stage));
  return schedule;
}

}  // namespace

CollectiveSchedule direct(Operation operation, const Wiring& wiring) {
  if (is_pair(operation)) {
    DDPSIM_CHECK(wiring.ranks == 2, "one sends, one receives");
    return directly(operation, 2, {Pattern::pipeline, {}, {edge_along(wiring.path(0, 1), 0, 1)}, 1});
  }
  Channel channel{Pattern::pipeline, {}, {}, 1};
  if (is_fan(operation)) {
    bool to_root = traits_of(operation).root == Root::to;
    for (int rank = 1; rank < wiring.ranks; ++rank) {
      int from = to_root ? rank : 0, to = to_root ? 0 : rank;
      channel.edges.push_back(edge_along(wiring.path(from, to), from, to));
      channel.edges.back().piece = {rank, wiring.ranks};
    }
    return directly(operation, wiring.ranks, std::move(channel));
  }
  auto n = static_cast<std::size_t>(wiring.ranks);
  channel.edges.reserve(n * (n - 1));
  for (int from = 0; from < wiring.ranks; ++from)
    for (int to = 0; to < wiring.ranks; ++to) {
      if (from == to) continue;
      channel.edges.push_back(edge_along(wiring.path(from, to), from, to));
      channel.edges.back().piece = {to, wiring.ranks};
    }
  return directly(operation, wiring.ranks, std::move(channel));
}

CollectiveSchedule server_transfers(const Wiring& wiring, int servers, Operation operation) {
  Channel channel{Pattern::pipeline, {}, {}, 1};
  int workers = wiring.ranks - servers;
  for (int worker = 0; worker < workers; ++worker)
    for (int s = 0; s < servers; ++s) {
      bool pushes = reduces(operation);
      int from = pushes ? worker : workers + s, to = pushes ? workers + s : worker;
      auto path = wiring.path(from, to);
      if (path.links.empty()) continue;
      auto& edge = channel.edges.emplace_back(edge_along(std::move(path), from, to));
      edge.piece = {s, servers};
      edge.reduce = pushes;
    }
  return directly(operation, wiring.ranks, std::move(channel));
}

}  // namespace ddpsim
