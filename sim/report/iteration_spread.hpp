#pragma once
// What many iterations that differ (docs/model.md, "Variability") come to.
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
};

std::string_view reported_iteration_name(ReportedIteration reported);

// `iterations` is not empty.
IterationSpread spread_of(const std::vector<Seconds>& iterations, Seconds unvaried,
                          const SampledRanks& sampled);

}  // namespace ddpsim
