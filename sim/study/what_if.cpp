#include "sim/study/what_if.hpp"

#include <fmt/core.h>

#include "sim/config/overrides.hpp"
#include "sim/study/run_all.hpp"
#include "sim/study/scenario_metrics.hpp"

namespace ddpsim {

Scenario WhatIf::scenario(const Change& change) {
  auto changed = root_;
  for (const auto& text : change.overrides) config::apply_override(changed, text);
  auto scenario =
      change.links == LinkScale() ? resolve(files_, changed) : resolve(Files(path_, change.links), changed);
  if (change.then) change.then(scenario);
  return scenario;
}

IterationMetrics WhatIf::simulate(const Change& change) {
  auto scenario = this->scenario(change);
  IterationMetrics metrics;
  run_all({&scenario, 1}, 1,
          [&](std::size_t, const Prediction& prediction) { metrics = metrics_of(scenario, prediction); });
  return metrics;
}

void add_strategies(const Scenario& scenario, std::vector<Change>& changes,
                    const std::function<bool(const StrategyTraits&)>& is) {
  auto is_possible = [&](const StrategyTraits& one) {
    // What shards does so in its script.
    return is(one) && (!scenario.recorded || (one.is_ddp && scenario.recorded->first().is_of_ddp()));
  };
  for (const auto& strategy : strategies_that(is_possible))
    if (strategy != scenario.strategy->name())
      changes.push_back({fmt::format("strategy {}", strategy), {fmt::format("strategy={}", strategy)}});
}

}  // namespace ddpsim
