#include "sim/study/plan_odds.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include "sim/base/check.hpp"
#include "sim/process/worker_threads.hpp"
#include "sim/study/choices.hpp"
#include "sim/study/plan_split.hpp"
#include "sim/study/point_runs.hpp"
#include "sim/study/resolve_all.hpp"

namespace ddpsim {
namespace {

// As of a sweep over these keys. What else a plan sets follows from the degrees.
std::vector<Trait> traits_of_plan(const PlannedPoint& point) {
  std::vector<Trait> traits;
  for (const char* key : {"parallelism.tensor", "parallelism.context", "parallelism.pipeline",
                          "parallelism.expert", "pipeline.virtual"}) {
    auto degree = setting(point.settings, key);
    traits.push_back(trait_of(key, degree.empty() ? "1" : degree));
  }
  for (const char* key : {"workload.micro_batch", "workload.recompute", "strategy"})
    traits.push_back(trait_of(key, setting(point.settings, key)));
  if (const auto& size = point.bucket_size) traits.push_back(trait_of(size->first, size->second));
  return traits;
}

}  // namespace

void compare_plans(std::vector<PlannedPoint>& best, const config::Value& root, Files& files) {
  auto compared = std::span(best).first(std::min(best.size(), kComparedPlans));
  std::vector<config::Value> roots;
  for (const auto& point : compared) roots.push_back(with_settings(root, point.settings));
  std::vector<const config::Value*> at;
  for (const auto& one : roots) at.push_back(&one);
  std::vector<Scenario> scenarios;
  for (auto& one : resolve_all(files, at)) {
    DDPSIM_CHECK(one.scenario, "a plan that was simulated is a scenario");
    scenarios.push_back(*std::move(one.scenario));
  }
  run_points(unchanged(scenarios), all_cores(),
             [&](std::size_t i, const Prediction&, const IterationMetrics& metrics) {
               compared[i].metrics.uncertainty = metrics.uncertainty;
             });
  std::vector<std::size_t> which;
  std::vector<Way> ways;
  for (std::size_t i = 0; i < compared.size(); ++i)
    if (compared[i].metrics.uncertainty) {
      which.push_back(i);
      ways.push_back({&compared[i].metrics, traits_of_plan(compared[i])});
    }
  if (ways.empty()) return;
  auto odds = odds_of(ways);
  for (std::size_t i = 0; i < which.size(); ++i) compared[which[i]].odds = odds[i];
  std::ranges::stable_sort(best, {}, [](const PlannedPoint& point) {
    return std::pair(
        point.odds ? std::round(point.odds->regret / kRegretNoise) : std::numeric_limits<double>::infinity(),
        point.metrics.iteration);
  });
}

}  // namespace ddpsim
