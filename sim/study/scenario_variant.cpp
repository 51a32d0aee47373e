#include "sim/study/scenario_variant.hpp"

namespace ddpsim {

Scenario ScenarioVariant::scenario() const {
  Scenario made = *base;
  if (bucket_cap) {
    made.ddp.bucket_cap = bucket_cap;
    made.plan = with_bucket_cap(std::move(made.plan), made.ddp, *bucket_cap);
  }
  if (knobs) {
    if (made.sampled && made.sampled->variability.draws_ranks())
      made.physics.spread = {};  // the draws have it
    made.sampled = nullptr;
    turn(made, *knobs);
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
