#pragma once
// What overlapped steps that were measured tell besides interference, which was fitted to them: they weigh
// the draws of what nobody measured (docs/model.md, "How sure a prediction is").
#include <string>
#include <vector>

#include "sim/engine/scenario.hpp"

namespace ddpsim {

struct OverlappedStep {
  std::string job;    // a phrase of which it is
  Scenario scenario;  // with the interference that was fitted
  Seconds measured;
};

// `off`: how far steps are from what was fitted to them all, in logarithms; a measurement is off by as much
// at least. Empty where nothing says how far predictions are off. Throws InputError where no draw comes near
// one of them, unless `accepts_all`, with which it is empty.
Evidence evidence_of(std::vector<OverlappedStep> steps, double off, bool accepts_all);

}  // namespace ddpsim
