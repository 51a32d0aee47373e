#include "sim/engine/sampled_iterations.hpp"

#include "sim/base/check.hpp"
#include "sim/base/statistics.hpp"
#include "sim/engine/broadcasts.hpp"

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

Prediction predict_reductions(const Scenario& scenario, Simulator& simulator) {
  if (!scenario.sampled) return {simulator.run(scenario)};
  const auto& sampled = *scenario.sampled;
  auto groups = simulator.collectives(scenario);
  std::vector<int> labels =
      scenario.communication ? scenario.communication->labels : std::vector<int>(scenario.groups.size());
  Prediction prediction;
  prediction.unvaried = iteration_of(iterate(scenario, groups));
  auto one = scenario;
  std::vector<double> times;
  for (const auto& slowest : sampled.slowest) {
    set_slowest(slowest, labels, one);
    prediction.iterations.push_back(iteration_of(iterate(one, groups)));
    times.push_back(prediction.iterations.back().value());
  }
  set_slowest(sampled.slowest[nearest_rank(times, share_of(sampled.variability.report))], labels, one);
  prediction.timeline = iterate(one, groups);
  for (auto& ranks : prediction.timeline.rank_classes) ranks.ranks = 1;  // of groups alike only one has it
  return prediction;
}

}  // namespace

Prediction predict(const Scenario& scenario, Simulator& simulator) {
  auto prediction = predict_reductions(scenario, simulator);
  prediction.simulated_flows = simulator.simulated_flows();
  if (scenario.plan.buffer_broadcasts.empty()) return prediction;
  auto times = broadcast_times(scenario, scenario.plan.buffer_broadcasts);
  prepend_broadcasts(times, prediction.timeline);
  auto before = times[prediction.timeline.last_to_finish().group];
  for (auto& iteration : prediction.iterations) iteration += before;
  if (scenario.sampled) prediction.unvaried += before;
  return prediction;
}

}  // namespace ddpsim
