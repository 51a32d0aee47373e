// All-reduces, all-gathers and reduce-scatters: partners exchange what they have.
#include <algorithm>
#include <array>
#include <bit>

#include "sim/base/check.hpp"
#include "sim/collective/rounds.hpp"

namespace ddpsim {
namespace {

// Ranks beyond the largest power of two make pairs of the first, whose second acts for both.
struct PowerOfTwo {
  explicit PowerOfTwo(int ranks)
      : power(static_cast<int>(std::bit_floor(static_cast<unsigned>(ranks)))), pairs(ranks - power) {}
  [[nodiscard]] int rank(int place) const { return place < pairs ? 2 * place + 1 : place + pairs; }
  // Ranks for which the places before this one act.
  [[nodiscard]] int ranks_before(int place) const { return place + std::min(place, pairs); }

  int power, pairs;
};

// `count` blocks from `first` on, around the end.
void add_around(Round& round, int from, int to, int first, int count, int ranks) {
  int before_end = std::min(count, ranks - first);
  round.push_back({from, to, {first, ranks, before_end}});
  if (before_end < count) round.push_back({from, to, {0, ranks, count - before_end}});
}

}  // namespace

Rounds doubling_all_reduce_rounds(int ranks) {
  PowerOfTwo of(ranks);
  Rounds rounds;
  Round together, apart;
  for (int pair = 0; pair < of.pairs; ++pair) {
    together.push_back({2 * pair, of.rank(pair), {}, true});
    apart.push_back({of.rank(pair), 2 * pair});
  }
  if (of.pairs > 0) rounds.push_back(together);
  for (int distance = 1; distance < of.power; distance *= 2) {
    auto& round = rounds.emplace_back();
    for (int place = 0; place < of.power; ++place)
      round.push_back({of.rank(place), of.rank(place ^ distance), {}, true});
  }
  if (of.pairs > 0) rounds.push_back(apart);
  return rounds;
}

Rounds doubling_all_gather_rounds(int ranks) {
  DDPSIM_CHECK(std::has_single_bit(static_cast<unsigned>(ranks)), "a power of two");
  Rounds rounds;
  for (int distance = 1; distance < ranks; distance *= 2) {
    auto& round = rounds.emplace_back();
    for (int rank = 0; rank < ranks; ++rank)
      round.push_back({rank, rank ^ distance, {rank / distance * distance, ranks, distance}});
  }
  return rounds;
}

Rounds bruck_all_gather_rounds(int ranks) {
  Rounds rounds;
  for (int distance = 1; distance < ranks; distance *= 2) {
    auto& round = rounds.emplace_back();
    for (int rank = 0; rank < ranks; ++rank)
      add_around(round, rank, (rank + ranks - distance) % ranks, rank, std::min(distance, ranks - distance),
                 ranks);
  }
  return rounds;
}

// coll_base_allgather.c: first with the one neighbour, then by turns with the other, always the pair of
// blocks that came last.
Rounds neighbor_exchange_rounds(int ranks) {
  DDPSIM_CHECK(ranks % 2 == 0, "an even number");
  Rounds rounds(1);
  auto around = [ranks](int rank) { return (rank + ranks) % ranks; };
  auto side = [](int rank, int turn) { return rank % 2 == turn ? 1 : -1; };
  std::vector<int> last(static_cast<std::size_t>(ranks));  // the pair that came last, by its first block
  for (int rank = 0; rank < ranks; ++rank) {
    rounds[0].push_back({rank, around(rank + side(rank, 0)), {rank, ranks}});
    last[static_cast<std::size_t>(rank)] = rank - rank % 2;
  }
  for (int step = 1; step < ranks / 2; ++step) {
    auto& round = rounds.emplace_back();
    auto before = last;
    for (int rank = 0; rank < ranks; ++rank) {
      int to = around(rank + side(rank, step % 2)), pair = before[static_cast<std::size_t>(rank)];
      round.push_back({rank, to, {pair, ranks, 2}});
      last[static_cast<std::size_t>(to)] = pair;
    }
  }
  return rounds;
}

Rounds halving_rounds(int ranks) {
  PowerOfTwo of(ranks);
  Rounds rounds;
  Round together, apart;
  for (int pair = 0; pair < of.pairs; ++pair) {
    together.push_back({2 * pair, of.rank(pair), {}, true});
    apart.push_back({of.rank(pair), 2 * pair, {2 * pair, ranks}});
  }
  if (of.pairs > 0) rounds.push_back(together);
  for (int distance = of.power / 2; distance >= 1; distance /= 2) {
    auto& round = rounds.emplace_back();
    for (int place = 0; place < of.power; ++place) {
      int partner = place ^ distance, half = partner / distance * distance;
      int first = of.ranks_before(half), end = of.ranks_before(half + distance);
      round.push_back({of.rank(place), of.rank(partner), {first, ranks, end - first}, true});
    }
  }
  if (of.pairs > 0) rounds.push_back(apart);
  return rounds;
}

Rounds pairwise_rounds(int ranks) {
  Rounds rounds;
  for (int step = 1; step < ranks; ++step) {
    auto& round = rounds.emplace_back();
    for (int rank = 0; rank < ranks; ++rank) round.push_back({rank, (rank + step) % ranks, {step, ranks}});
  }
  return rounds;
}

Rounds bruck_all_to_all_rounds(int ranks) {
  Rounds rounds;
  for (int distance = 1; distance < ranks; distance *= 2) {
    auto& round = rounds.emplace_back();
    for (int rank = 0; rank < ranks; ++rank)
      for (int slot = distance; slot < ranks; slot += 2 * distance)
        round.push_back({rank, (rank + distance) % ranks, {slot, ranks, std::min(distance, ranks - slot)}});
  }
  return rounds;
}

}  // namespace ddpsim
