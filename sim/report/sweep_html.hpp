#pragma once
// A sweep as one page of HTML: what is best, pictures, every point, what bounds the best one, what is left
// out, and what it was made of.
#include <string>
#include <vector>

#include "sim/base/input_log.hpp"
#include "sim/report/result_json.hpp"
#include "sim/result/sweep_result.hpp"

namespace ddpsim {

struct SweepReport {
  ScenarioInfo scenario;
  std::vector<std::string> options;  // of the command that gives the same page, besides --set
  ToolInfo tool;
  std::vector<InputFile> inputs;
  std::string explanation;  // of the best point
};

// The same input gives the same bytes.
std::string sweep_html(const SweepResult& result, const SweepReport& report);

}  // namespace ddpsim
