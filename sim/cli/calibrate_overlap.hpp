#pragma once
// `ddpsim calibrate --overlap`: interference from one overlapped iteration that was measured.
#include <string>
#include <vector>

namespace ddpsim::cli {

struct OverlapOptions {
  std::string scenario, measured, out;
  std::vector<std::string> overrides;  // --set
  bool quiet = false, accept = false;
};

void calibrate_overlap(const OverlapOptions& options);

}  // namespace ddpsim::cli
