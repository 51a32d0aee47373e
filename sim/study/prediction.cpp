#include "sim/study/prediction.hpp"

#include <set>

#include "sim/base/check.hpp"
#include "sim/base/statistics.hpp"

namespace ddpsim {
namespace {

Seconds iteration_of(const Timeline& timeline) {
  return timeline.last_to_finish().duration();
}

// Of a model that GPUs share, every stage is as slow as its slowest rank, whichever copy that works on.
void set_slowest_of_stages(const std::vector<SlowestRank>& slowest, RankGroup& job) {
  for (auto& one : job.rank_classes) {
    const auto& [rank, slowdown] = slowest[one.program];
    one.rank = rank;
    one.slowdown = slowdown;
  }
}

// Makes every group's slowest rank its only class. The others launch no collective later and end no iteration
// later, so they decide nothing; with interference neither: a rank that is ahead computes only while the
// slowest one does.
void set_slowest(const std::vector<SlowestRank>& slowest, Scenario& scenario) {
  for (std::size_t g = 0; g < scenario.groups.size(); ++g) {
    const auto& [rank, slowdown] = slowest[static_cast<std::size_t>(scenario.groups[g].label)];
    // Of every kind of communicator one: all ranks wait for the slowest somewhere.
    std::set<std::vector<std::size_t>> communicators;
    for (const auto& one : scenario.groups[g].rank_classes) communicators.insert(one.communicators);
    scenario.groups[g].rank_classes.clear();
    for (const auto& mine : communicators)
      scenario.groups[g].rank_classes.push_back({rank, 1, slowdown, mine});
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
  auto varied = scenario;
  bool draws_ranks = sampled.variability.draws_ranks();
  if (draws_ranks) varied.physics.spread = {};  // the draws have it
  // Where nobody shares links all simulations give what the closed form does: one is enough.
  if (!scenario.shares_links()) varied.fidelity = Fidelity::closed_form;
  auto set_iteration = [&](std::size_t iteration) {
    if (draws_ranks && scenario.has_stages())
      set_slowest_of_stages(sampled.slowest[iteration], varied.groups.front());
    else if (draws_ranks)
      set_slowest(sampled.slowest[iteration], varied);
    if (!sampled.weather.empty()) varied.weather = sampled.weather[iteration];
  };
  auto simulate_varied = [&]() -> Prediction {
    auto [timeline, flows] = simulate(varied);
    return {std::move(timeline), {}, {}, flows};
  };
  Prediction result;
  std::vector<double> times;
  // First as if nothing varied, then all iterations.
  predict_each(
      sampled.slowest.size() + 1, jobs, varied.uses_up_process(),
      [&](std::size_t i) {
        if (i > 0) set_iteration(i - 1);
        return simulate_varied();
      },
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
  set_iteration(nearest_rank(times, share_of(sampled.variability.report)));
  varied.fidelity = scenario.fidelity;
  predict_each(
      1, 1, varied.uses_up_process(), [&](std::size_t) { return simulate_varied(); },
      [&](std::size_t, Prediction one) {
        result.simulated_flows += one.simulated_flows;
        result.timeline = std::move(one.timeline);
      },
      throw_lost);
  if (draws_ranks && !scenario.has_stages())
    for (auto& ranks : result.timeline.rank_classes) ranks.ranks = 1;  // of groups alike only one has it
  return result;
}

}  // namespace ddpsim
