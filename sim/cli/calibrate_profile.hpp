#pragma once
// `ddpsim calibrate --overlap-profile`: interference from a profiler's trace of overlapped steps.
#include <string>

namespace ddpsim::cli {

struct OverlapProfileOptions {
  std::string profile;
  std::string alone;  // the same model's trace without communication; empty: none
  std::string algbw;  // what all-reduces reach when no rank waits; empty: not known
  std::string out;
  bool quiet = false;
};

void calibrate_profile(const OverlapProfileOptions& options);

}  // namespace ddpsim::cli
