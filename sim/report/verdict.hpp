#pragma once
// What a sweep says, in a few lines.
#include <string>
#include <vector>

#include "sim/result/sweep_result.hpp"

namespace ddpsim {

// Which point is best; where a cluster or a workload is swept, what is best on each of them, or how long
// iterations are where nothing else is. `has_range`: iterations are not known to a number.
std::vector<std::string> verdict_lines(const SweepResult& result, bool has_range);

}  // namespace ddpsim
