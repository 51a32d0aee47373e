#pragma once
#include "sim/result/sweep_result.hpp"

namespace ddpsim {

// Sets the odds of points that are ways of the same job, by common draws: what they share decides nothing.
// Each has an error of its own besides, which its evidence knows by what the points differ in.
void add_odds(SweepResult& result);

}  // namespace ddpsim
