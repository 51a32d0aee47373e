#pragma once
// A recorded step beside a profile of it, for people and as JSON.
#include <iosfwd>
#include <string>

#include "sim/report/result_json.hpp"
#include "sim/trace/step_comparison.hpp"

namespace ddpsim {

void print_step_comparison(std::ostream& out, const StepComparison& comparison);
std::string step_comparison_json(const StepComparison& comparison, const ToolInfo& tool);

}  // namespace ddpsim
