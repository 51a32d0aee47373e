#include "sim/engine/prediction.hpp"

#include "sim/base/check.hpp"
#include "sim/base/statistics.hpp"

namespace ddpsim {
namespace {

Seconds iteration_of(const Timeline& timeline) {
  return timeline.last_to_finish().duration();
}

// Makes every group's slowest rank its only class. The others launch no collective later and end no iteration
// later, so they decide nothing; with interference neither: a rank that is ahead computes only while the
// slowest one does.
void set_slowest(const std::vector<SlowestRank>& slowest, const std::vector<int>& labels,
                 Scenario& scenario) {
  for (std::size_t g = 0; g < scenario.groups.size(); ++g) {
    const auto& [rank, slowdown] = slowest[static_cast<std::size_t>(labels[g])];
    scenario.groups[g].rank_classes = {{rank, 1, slowdown}};
  }
}

double share_of(ReportedIteration reported) {
  return reported == ReportedIteration::p95 ? 0.95 : 0.5;
}

}  // namespace

Prediction predict(const Scenario& scenario, const Simulate& simulate, unsigned jobs) {
  if (!scenario.sampled) {
    auto [timeline, flows] = simulate(scenario);
    return {std::move(timeline), {}, {}, flows};
  }
  const auto& sampled = *scenario.sampled;
  std::vector<int> labels =
      scenario.communication ? scenario.communication->labels : std::vector<int>(scenario.groups.size());
  auto varied = scenario;
  auto simulate_one = [&](const std::vector<SlowestRank>* slowest) -> Prediction {
    if (slowest) set_slowest(*slowest, labels, varied);
    auto [timeline, flows] = simulate(slowest ? varied : scenario);
    return {std::move(timeline), {}, {}, flows};
  };
  Prediction result;
  std::vector<double> times;
  // First as if nothing varied, then all iterations.
  predict_each(
      sampled.slowest.size() + 1, jobs, scenario.uses_up_process(),
      [&](std::size_t i) { return simulate_one(i == 0 ? nullptr : &sampled.slowest[i - 1]); },
      [&](std::size_t i, const Prediction& one) {
        result.simulated_flows += one.simulated_flows;
        auto iteration = iteration_of(one.timeline);
        if (i == 0) {
          result.unvaried = iteration;
          return;
        }
        result.iterations.push_back(iteration);
        times.push_back(iteration.value());
      },
      throw_lost);
  const auto& reported = sampled.slowest[nearest_rank(times, share_of(sampled.variability.report))];
  predict_each(
      1, 1, scenario.uses_up_process(), [&](std::size_t) { return simulate_one(&reported); },
      [&](std::size_t, Prediction one) { result.timeline = std::move(one.timeline); }, throw_lost);
  for (auto& ranks : result.timeline.rank_classes) ranks.ranks = 1;  // of groups alike only one has it
  return result;
}

}  // namespace ddpsim
