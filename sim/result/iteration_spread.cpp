#include "sim/result/iteration_spread.hpp"

#include "sim/base/statistics.hpp"

namespace ddpsim {

std::string_view reported_iteration_name(ReportedIteration reported) {
  return reported == ReportedIteration::p95 ? "p95" : "median";
}

IterationSpread spread_of(const std::vector<Seconds>& iterations, Seconds unvaried,
                          const SampledRanks& sampled) {
  std::vector<double> times;
  for (auto iteration : iterations) times.push_back(iteration.value());
  auto at = [&](double share) { return Seconds(times[nearest_rank(times, share)]); };
  const auto& variability = sampled.variability;
  return {variability.iterations,
          variability.seed,
          variability.report,
          at(0),
          at(0.05),
          at(0.5),
          at(0.95),
          at(1),
          Seconds(mean(times)),
          unvaried,
          sampled.growth,
          sampled.slow_for_the_run,
          variability.ranks || variability.nodes};
}

}  // namespace ddpsim
