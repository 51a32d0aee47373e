#pragma once
// A scenario on other numbers of GPUs.
#include <span>
#include <vector>

#include "sim/config/value.hpp"
#include "sim/report/growth.hpp"
#include "sim/text/scenario_reader.hpp"

namespace ddpsim {

struct ScaledScenario {
  Scenario scenario;
  double share = 1;  // of a GPU's work on the first number of GPUs
};

// `root` without its sweep section. Of strong scaling the work is that of the scenario's own world: the
// micro-batches of a step are dealt out, and where there are fewer than GPUs, the samples of a model's.
// Throws InputError where the scenario cannot be read with so many, or they cannot share the work.
std::vector<ScaledScenario> scaled_scenarios(const config::Value& root, std::span<const int> gpus,
                                             Scaling scaling, ScenarioReader& reader);

}  // namespace ddpsim
