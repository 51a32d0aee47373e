#pragma once
// `simulate --best-caps`: looks for the best list of ddp.bucket_caps.
#include "sim/engine/scenario.hpp"
#include "sim/report/best_caps.hpp"

namespace ddpsim {

// Throws InputError where no list of caps makes the scenario's buckets.
void check_best_caps(const Scenario& scenario);

// Of a checked scenario.
BestCaps best_caps(const Scenario& scenario, unsigned jobs);

}  // namespace ddpsim
