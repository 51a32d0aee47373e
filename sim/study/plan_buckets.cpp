#include "sim/study/plan_buckets.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "sim/base/source.hpp"
#include "sim/config/overrides.hpp"
#include "sim/job/rows/table.hpp"
#include "sim/process/worker_threads.hpp"
#include "sim/study/run_all.hpp"
#include "sim/study/scenario_metrics.hpp"

namespace ddpsim {
namespace {

using Settings = std::vector<PlannedPoint::Setting>;

// What saves less than this share of a step is not worth a setting.
constexpr double kWorthwhile = 0.005;

Settings sizes_of(const std::string& strategy, const config::Value& root) {
  auto changed = root;
  config::apply_override(changed, fmt::format("strategy={}", strategy));
  auto given = read_partial_job(changed);
  auto size = reduction_size(given.job);
  if (!size || given.has(size->path) || given.has("fsdp.units")) return {};
  Settings found;
  for (const auto& value : size->values) found.emplace_back(size->path, value);
  return found;
}

// A plan with one of its sizes.
struct Sized {
  std::size_t plan;
  PlannedPoint::Setting size;
};

}  // namespace

void sort_by_iteration(std::vector<PlannedPoint>& points) {
  std::stable_sort(points.begin(), points.end(),
                   [](const auto& a, const auto& b) { return a.metrics.iteration < b.metrics.iteration; });
}

double memory_share(const Scenario& scenario) {
  return scenario.memory()->peak() / scenario.model_step->gpu.memory;
}

// Communicators and passes are as before, so a size takes a simulation and little else.
std::size_t try_bucket_sizes(std::vector<PlannedPoint>& best, const config::Value& root, double most_memory,
                             const std::function<Scenario(const Settings&)>& read) {
  std::vector<Scenario> scenarios;
  std::vector<Sized> sized;
  const auto plans =
      std::vector(best.begin(), best.begin() + std::min<std::ptrdiff_t>(kSizedPlans, std::ssize(best)));
  for (std::size_t i = 0; i < plans.size(); ++i)
    for (auto& size : sizes_of(setting(plans[i].settings, "strategy"), root)) {
      auto settings = plans[i].settings;
      settings.push_back(size);
      try {
        auto scenario = read(settings);
        if (memory_share(scenario) > most_memory) continue;
        scenarios.push_back(std::move(scenario));
        sized.push_back({i, std::move(size)});
      } catch (const InputError&) {
        // A stage with fewer layers than a unit.
      }
    }
  run_all(scenarios, all_cores(), [&](std::size_t i, const Prediction& prediction) {
    auto metrics = metrics_of(scenarios[i], prediction);
    const auto& [which, size] = sized[i];
    const auto& as_usual = plans[which];
    auto saves = 1 - metrics.iteration / as_usual.metrics.iteration;
    if (saves < kWorthwhile || metrics.iteration >= best[which].metrics.iteration) return;
    metrics.buckets.clear();
    best[which] = {as_usual.settings, std::move(metrics), scenarios[i].notes, size, saves};
    best[which].settings.push_back(size);
  });
  sort_by_iteration(best);
  return sized.size();
}

}  // namespace ddpsim
