#include "sim/collective/rounds.hpp"

#include <algorithm>
#include <utility>

#include "sim/collective/channels.hpp"

namespace ddpsim {

CollectiveSchedule in_rounds(std::string algorithm, Operation operation, const Wiring& wiring,
                             const Rounds& rounds) {
  CollectiveSchedule schedule{std::move(algorithm), operation, wiring.ranks, {}};
  for (const auto& round : rounds) {
    Channel channel{Pattern::exchange, {}, {}, 1};
    channel.edges.reserve(round.size());
    for (const auto& message : round) {
      auto& edge = channel.edges.emplace_back(
          edge_along(wiring.path(message.from, message.to), message.from, message.to));
      edge.piece = message.piece;
      edge.reduce = message.reduce;
    }
    Stage stage{operation, {}};
    stage.channels.push_back(std::move(channel));
    schedule.stages.push_back(std::move(stage));
  }
  return schedule;
}

Rounds mirrored(Rounds rounds, bool reduce) {
  std::ranges::reverse(rounds);
  for (auto& round : rounds)
    for (auto& message : round) {
      std::swap(message.from, message.to);
      message.reduce = reduce;
    }
  return rounds;
}

}  // namespace ddpsim
