#pragma once
#include <string>

#include "validate/comparison/validation_report.hpp"

#include "sim/report/result_json.hpp"

namespace ddpsim::validate {

// The keys and their order are stable (docs/reference/measured.md).
std::string validation_json(const ValidationReport& report, const ScenarioInfo& scenario,
                            const ToolInfo& tool);

}  // namespace ddpsim::validate
