#include "sim/study/scenario_variant.hpp"

namespace ddpsim {

Scenario ScenarioVariant::scenario() const {
  Scenario made = *base;
  if (interference) made.physics.interference = *interference;
  if (bucket_cap) {
    made.ddp.bucket_cap = bucket_cap;
    made.plan = make_reduction_plan(*made.trace, Strategy::ddp, made.ddp);
    made.plan.buffer_broadcasts = base->plan.buffer_broadcasts;  // which a replay leaves out
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
