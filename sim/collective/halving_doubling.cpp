#include <array>
#include <bit>
#include <utility>

#include "sim/collective/algorithms.hpp"
#include "sim/collective/channels.hpp"

namespace ddpsim {
namespace {

// Pairs (r, r + distance) of the first `ranks`, by their lower rank.
template <class Visit>
void for_each_pair(int ranks, int distance, Visit visit) {
  for (int lower = 0; lower < ranks; ++lower)
    if ((lower & distance) == 0) visit(lower, lower + distance);
}

// A ring of two: reduce-scatter and all-gather are one exchange of halves each.
Channel exchange(const Wiring& wiring, int lower, int upper, Part part) {
  return ring_channel(wiring, std::array{lower, upper}, part);
}

// The whole buffer between each rank beyond the power of two and its partner.
Stage hand_over(const Wiring& wiring, int power, Operation operation) {
  bool reduce = reduces(operation);
  Stage stage{operation, {}};
  for (int beyond = power; beyond < wiring.ranks; ++beyond) {
    int from = reduce ? beyond : beyond - power, to = reduce ? beyond - power : beyond;
    Channel channel{Pattern::pipeline, {}, {edge_along(wiring.path(from, to), from, to)}, 1};
    channel.edges[0].reduce = reduce;
    stage.channels.push_back(std::move(channel));
  }
  return stage;
}

// After k halvings rank r holds one of 2^k parts; which one depends on its lowest k bits, so that partners at
// distance 2^k hold the same.
using Held = std::vector<int>;

Stage halve(const Wiring& wiring, int power, int distance, Held& held) {
  Stage stage{Operation::reduce_scatter, {}};
  stage.channels.reserve(power / 2);
  for_each_pair(power, distance, [&](int lower, int upper) {
    int part = held[lower];
    stage.channels.push_back(exchange(wiring, lower, upper, {part, distance}));
    // ring_transfer: position p of the ring ends with half (p + 1) mod 2.
    held[lower] = 2 * part + 1;
    held[upper] = 2 * part;
  });
  return stage;
}

Stage double_up(const Wiring& wiring, int power, int distance, Held& held) {
  Stage stage{Operation::all_gather, {}};
  stage.channels.reserve(power / 2);
  for_each_pair(power, distance, [&](int lower, int upper) {
    int part = held[lower] / 2;
    stage.channels.push_back(exchange(wiring, lower, upper, {part, distance}));
    held[lower] = held[upper] = part;
  });
  return stage;
}

}  // namespace

CollectiveSchedule halving_doubling(const Wiring& wiring) {
  CollectiveSchedule schedule{"halving_doubling", Operation::all_reduce, wiring.ranks, {}};
  int power = static_cast<int>(std::bit_floor(static_cast<unsigned>(wiring.ranks)));
  Held held(power, 0);
  bool beyond = wiring.ranks > power;
  if (beyond) schedule.stages.push_back(hand_over(wiring, power, Operation::reduce_scatter));
  for (int distance = 1; distance < power; distance *= 2)
    schedule.stages.push_back(halve(wiring, power, distance, held));
  for (int distance = power / 2; distance >= 1; distance /= 2)
    schedule.stages.push_back(double_up(wiring, power, distance, held));
  if (beyond) schedule.stages.push_back(hand_over(wiring, power, Operation::broadcast));
  return schedule;
}

}  // namespace ddpsim
