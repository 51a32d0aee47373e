#pragma once
// Draws of a variability, and what of them decides: ranks that reduce together wait for the slowest.
#include <span>
#include <vector>

#include "sim/variability/variability.hpp"

namespace ddpsim {

struct RankPlace {
  double slowdown = 1;  // what is known of it beforehand
  int node = 0;
  int group = 0;  // ranks of one group wait for one another
};

struct SlowestRank {
  int rank = 0;
  double slowdown = 0;
};

// How slow the slowest of so many ranks is.
struct ExpectedSlowest {
  int ranks = 0;
  double slowdown = 0;
};

// Of slow ones that last for the run: how many were drawn.
struct SlowForTheRun {
  SlowOnes ones;
  int drawn = 0, of = 0;
  // The probability that at least one is drawn.
  [[nodiscard]] double chance_of_any() const;
};

struct SampledRanks {
  Variability variability;
  std::vector<std::vector<SlowestRank>> slowest;  // by iteration, then by group
  // Of 1, 2, 4, ... and of all ranks: the mean over iterations and over all runs of so many consecutive
  // ranks.
  std::vector<ExpectedSlowest> growth;
  std::vector<SlowForTheRun> slow_for_the_run;
  std::vector<double> weather;  // by iteration: the quantile of the share that the fabric gives; empty: all
};

// `ranks` by rank, groups from 0. The same draws whatever else is asked: a rank's do not depend on how many
// there are, and those of one source not on the others.
SampledRanks sample_ranks(const Variability& variability, std::span<const RankPlace> ranks);

}  // namespace ddpsim
