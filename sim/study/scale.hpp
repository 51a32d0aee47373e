#pragma once
// A scenario on other numbers of GPUs.
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "sim/config/value.hpp"
#include "sim/report/growth.hpp"
#include "sim/resolve/resolve.hpp"

namespace ddpsim {

// The numbers of GPUs that a scenario can have, as far as its sections say.
struct PossibleCounts {
  std::int64_t multiple = 1, least = 2;
  std::string key = {};  // that says so: "parallelism"
  [[nodiscard]] bool has(std::int64_t gpus) const { return gpus >= least && gpus % multiple == 0; }
};
PossibleCounts possible_counts(const config::Value& root);

struct ScaledScenario {
  Scenario scenario;
  double share = 1;  // of a GPU's work on the first number of GPUs
};

// `root` without its sweep section. Of strong scaling the work is that of the scenario's own world: the
// micro-batches of a step are dealt out, and where there are fewer than GPUs, the samples of a model's.
// Throws InputError where the scenario cannot be read with so many, or they cannot share the work.
std::vector<ScaledScenario> scaled_scenarios(const config::Value& root, std::span<const int> gpus,
                                             Scaling scaling, Files& files);

}  // namespace ddpsim
