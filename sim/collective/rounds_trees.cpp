// From rank 0 to all: what broadcasts and scatters are made of.
#include <algorithm>
#include <bit>
#include <iterator>

#include "sim/collective/rounds.hpp"

namespace ddpsim {

Rounds linear_rounds(int ranks) {
  if (ranks == 1) return {};
  Rounds rounds(1);
  for (int rank = 1; rank < ranks; ++rank) rounds[0].push_back({0, rank});
  return rounds;
}

Rounds chain_rounds(int ranks) {
  Rounds rounds;
  for (int rank = 1; rank < ranks; ++rank) rounds.push_back({{rank - 1, rank}});
  return rounds;
}

// coll_base_topo.c, build_tree: a rank on level l has the children 2^l and 2 x 2^l further on.
Rounds binary_rounds(int ranks) {
  Rounds rounds;
  for (int parent = 0; parent < ranks; ++parent) {
    auto level = static_cast<std::size_t>(std::bit_width(static_cast<unsigned>(parent + 1)) - 1);
    for (int child : {parent + (1 << level), parent + (2 << level)}) {
      if (child >= ranks) continue;
      if (rounds.size() <= level) rounds.resize(level + 1);
      rounds[level].push_back({parent, child});
    }
  }
  return rounds;
}

Rounds binomial_rounds(int ranks) {
  Rounds rounds;
  for (int have = 1; have < ranks; have *= 2) {
    auto& round = rounds.emplace_back();
    for (int rank = 0; rank < have && rank + have < ranks; ++rank) round.push_back({rank, rank + have});
  }
  return rounds;
}

Rounds knomial_rounds(int ranks, int radix) {
  Rounds rounds;
  int distance = 1;
  while (distance < ranks) distance *= radix;
  for (distance /= radix; distance >= 1; distance /= radix) {
    auto& round = rounds.emplace_back();
    for (int rank = 0; rank < ranks; rank += radix * distance)
      for (int child = rank + distance; child < std::min(ranks, rank + radix * distance); child += distance)
        round.push_back({rank, child});
  }
  return rounds;
}

Rounds scatter_rounds(int ranks) {
  auto rounds = knomial_rounds(ranks, 2);
  for (auto& round : rounds)
    for (auto& [from, to, piece, reduce] : round)
      piece = {to, ranks, std::min(to - from, ranks - to)};  // as many as lie between them
  return rounds;
}

Rounds scatter_all_gather_rounds(int ranks) {
  auto rounds = scatter_rounds(ranks);
  bool is_power = std::has_single_bit(static_cast<unsigned>(ranks));
  std::ranges::move(is_power ? doubling_all_gather_rounds(ranks) : bruck_all_gather_rounds(ranks),
                    std::back_inserter(rounds));
  return rounds;
}

}  // namespace ddpsim
