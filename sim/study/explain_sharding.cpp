#include "sim/study/explain_sharding.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "sim/config/overrides.hpp"

namespace ddpsim {
void add_bucket_sizes(const WhatIf& what_if, std::vector<Change>& changes) {
  auto size = reduction_size(what_if.given().job);
  if (!size || what_if.find("fsdp.units")) return;
  const auto* now = config::find_at(what_if.root(), size->path);
  for (const auto& value : size->values)
    if (!now || text_of(*now) != value)
      changes.push_back({fmt::format("{} {}", size->path, value), {fmt::format("{}={}", size->path, value)}});
}

void add_sharding_changes(const WhatIf& what_if, const Scenario& scenario, std::vector<Change>& changes) {
  if (!scenario.strategy_plan) return;
  auto tries = scenario.strategy_plan->trials({*scenario.trace, scenario.host.ranks, scenario.world_size});
  if (tries.empty()) add_bucket_sizes(what_if, changes);
  for (auto& one : tries) changes.push_back({std::move(one.name), std::move(one.settings)});
}

}  // namespace ddpsim
