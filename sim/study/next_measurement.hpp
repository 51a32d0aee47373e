#pragma once
// Which measurement would narrow a prediction most.
#include <iosfwd>
#include <string>
#include <vector>

#include "sim/result/columns.hpp"
#include "sim/study/what_if.hpp"

namespace ddpsim {

struct NextMeasurement {
  std::string what;     // "one step on one node"
  std::string command;  // that weighs what was measured; TIME and TABLE stand for it
  double width;         // of the 80 % interval afterwards, on average
};
struct Narrowing {
  double now = 0;  // how wide the interval is
  std::vector<NextMeasurement>
      all;  // the narrowest first; none: nothing is in doubt, or no model to calibrate
};
// `job`: the scenario's file and its --set, as a shell takes them.
Narrowing narrowing_of(const std::string& job, WhatIf& what_if, const Scenario& scenario,
                       const IterationMetrics& metrics);

// What would narrow it most, and the command to type; all of them as a field of JSON.
Cell print_narrowing(std::ostream& out, const Narrowing& narrowing);

}  // namespace ddpsim
