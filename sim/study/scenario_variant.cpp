#include "sim/study/scenario_variant.hpp"

namespace ddpsim {

Scenario ScenarioVariant::scenario() const {
  Scenario made = *base;
  if (physics) {
    made.physics.interference = physics->interference;
    made.physics.spread = physics->spread;
  }
  if (bucket_cap) {
    made.ddp.bucket_cap = bucket_cap;
    made.plan = with_bucket_cap(std::move(made.plan), made.ddp, *bucket_cap);
  }
  return made;
}

std::vector<ScenarioVariant> unchanged(std::span<const Scenario> scenarios) {
  std::vector<ScenarioVariant> variants;
  variants.reserve(scenarios.size());
  for (const auto& scenario : scenarios) variants.push_back({&scenario});
  return variants;
}

}  // namespace ddpsim
