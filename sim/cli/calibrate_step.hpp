#pragma once
// `ddpsim calibrate --step`: a software's share from one step that was measured.
#include <string>
#include <vector>

namespace ddpsim::cli {

struct StepOptions {
  std::string scenario, step, out;
  std::string share;                   // empty: what most of the step's compute is
  std::vector<std::string> overrides;  // --set
  bool quiet = false, accept = false;
};

// Prints which value of the key `share` gives the step.
void solve_step(const StepOptions& options);
void calibrate_step(const StepOptions& options);

}  // namespace ddpsim::cli
