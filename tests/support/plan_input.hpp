#pragma once
// What a strategy's plan of a whole model is made for, as it usually is.
#include "sim/strategy/strategy.hpp"

namespace ddpsim::testing {

inline PlanInput plan_input(const LayerTrace& trace, int ranks) {
  static const StrategyChoice kUsual;
  return {.choice = kUsual, .trace = trace, .ranks = ranks};
}

}  // namespace ddpsim::testing
