#include "sim/study/overlapped_steps.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "sim/evidence/conditioning.hpp"
#include "sim/study/refuted.hpp"
#include "sim/study/uncertainty.hpp"

namespace ddpsim {
namespace {

// Interference is in doubt as before; a scenario that names the calibration has no range of it.
void doubt_interference(Scenario& scenario) {
  auto& physics = scenario.physics;
  physics.is_calibrated = true;
  if (physics.range)
    physics.range->least.interference = physics.range->most.interference = physics.interference;
  auto doubt = doubt_of(Subject::physics, "interference");
  if (std::ranges::find(scenario.doubts, doubt.of, &Doubt::of) == scenario.doubts.end())
    scenario.doubts.push_back(std::move(doubt));
}

}  // namespace

Evidence evidence_of(std::vector<OverlappedStep> steps, double off, bool accepts_all) {
  Evidence told;
  for (auto& [job, scenario, measured] : steps) {
    if (!scenario.evidence) return {};
    doubt_interference(scenario);
    const auto* compute = compute_doubt(scenario);
    auto response = response_of(scenario);
    double row = compute ? std::max(off, scenario.evidence->calibrated_row(*compute->of)) : off;
    if (!response || row <= 0) return {};
    auto together = *scenario.evidence;
    together.measured = {{job, measured, row, *response}};
    if (!weigh(together)) {
      if (accepts_all) return {};
      throw refuted(scenario, measured, draws_of(*response, *scenario.evidence, kDrawsToWeigh));
    }
    told.measured.push_back(std::move(together.measured.front()));
  }
  return told;
}

}  // namespace ddpsim
