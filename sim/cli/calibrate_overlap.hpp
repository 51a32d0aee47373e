#pragma once
// `ddpsim calibrate --overlap`: interference from one overlapped iteration that was measured, or from all
// that were.
#include <string>
#include <vector>

#include "sim/engine/scenario.hpp"
#include "sim/result/measured_iterations.hpp"

namespace ddpsim::cli {

struct OverlapOptions {
  std::string scenario, measured, out;
  std::vector<std::string> overrides;  // --set
  bool quiet = false, accept = false, all_rows = false;
};

void calibrate_overlap(const OverlapOptions& options);
// With all_rows.
void calibrate_overlap_rows(const OverlapOptions& options);

// Throws InputError where times of different run sets (another machine, another day) would be mixed: they
// differ by more than interference does.
void refuse_mixed_sets(const Scenario& scenario, const MeasuredIteration& row, const std::string& path);
// Throws InputError for an interference that no published run showed.
void refuse_absurd(double compute, double collective);

}  // namespace ddpsim::cli
