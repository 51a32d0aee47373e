#pragma once
// What a sweep says, in a few lines.
#include <string>
#include <vector>

#include "sim/result/sweep_result.hpp"

namespace ddpsim {

// Which point is best, and how sure that is; where a cluster or a workload is swept, what is best on each of
// them, or from where on a faster link gains nothing, or how long iterations are. The first line is enough.
std::vector<std::string> verdict_lines(const SweepResult& result);

}  // namespace ddpsim
