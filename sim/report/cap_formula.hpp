#pragma once
// The textbook's step under a bucket cap (docs/model.md, "Which bucket size is best"), beside what is
// simulated: equal layers, equal buckets, and all-reduces that take A + x / W.
#include <string>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/report/shown_table.hpp"
#include "sim/result/sweep_result.hpp"

namespace ddpsim {

// The formulas of a sweep's groups, as lines.
std::vector<std::string> formula_lines(const SweepResult& result);

// Each cap's iteration, simulated and by the formula.
ShownTable formula_table(const SweepResult& result);

}  // namespace ddpsim
