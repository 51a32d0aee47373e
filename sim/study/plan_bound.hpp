#pragma once
// What no step of a plan is shorter than, so that `ddpsim plan` need not simulate it (docs/model.md).
#include "sim/engine/scenario.hpp"

namespace ddpsim {

// GPUs fewer than an estimate was fitted to are faster; what is read without a cluster knows no spread.
inline constexpr double kLeastSlowdown = 0.97;

// Of the fastest GPU that some stage waits for.
double least_slowdown(const Scenario& scenario);

// No step of it is shorter, whatever the strategy: the busiest stage, and in 1F1B and its interleaved kind
// what goes through the first chunks of earlier stages before its first pass and after its last.
Seconds bound_of(const Scenario& scenario);

}  // namespace ddpsim
