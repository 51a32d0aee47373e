#pragma once
// What many iterations that differ (docs/model.md, "Iterations that differ") come to.
#include <string_view>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/variability/sampled_ranks.hpp"

namespace ddpsim {

// Quantiles are iterations that were simulated: p95 is the shortest that at least 95 % of them do not exceed.
struct IterationSpread {
  int iterations = 0;
  std::uint64_t seed = 0;
  ReportedIteration report = ReportedIteration::median;
  Seconds least, p5, median, p95, most, mean;
  Seconds unvaried;  // were nothing to vary
  std::vector<ExpectedSlowest> slowest_of;
  // Drawn once, so that another seed is another run: slow ones, and whether all ranks or nodes have speeds of
  // their own.
  std::vector<SlowForTheRun> slow_for_the_run;
  bool speeds_for_the_run = false;
};

std::string_view reported_iteration_name(ReportedIteration reported);

// `iterations` is not empty.
IterationSpread spread_of(const std::vector<Seconds>& iterations, Seconds unvaried,
                          const SampledRanks& sampled);

}  // namespace ddpsim
