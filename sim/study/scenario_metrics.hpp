#pragma once
// The metrics of what was predicted of a scenario.
#include "sim/engine/scenario.hpp"
#include "sim/result/metrics.hpp"
#include "sim/study/prediction.hpp"

namespace ddpsim {

IterationMetrics metrics_of(const Scenario& scenario, const Prediction& prediction);
IterationContext context_of(const Scenario& scenario);

}  // namespace ddpsim
