#pragma once
// Results as JSON. The keys and their order are stable (docs/formats.md); the same input gives the same
// bytes.
#include <optional>
#include <string>
#include <vector>

#include "sim/report/best_caps.hpp"
#include "sim/report/columns.hpp"
#include "sim/report/metrics.hpp"
#include "sim/report/recorded_comparison.hpp"
#include "sim/report/sweep_result.hpp"

namespace ddpsim {

// Who computed this.
struct ToolInfo {
  std::string version;
  std::string simgrid;  // the version of the engine
};
ToolInfo tool_info();  // this build

// Which scenario was swept.
struct ScenarioInfo {
  std::string file;
  std::vector<std::string> set;  // the --set arguments, as given
  std::vector<AxisValues> axes;
};

// One point with its buckets, beside what was recorded where there is something, and what --explain found.
std::string simulate_json(const IterationMetrics& metrics, const ToolInfo& tool,
                          const std::optional<RecordedComparison>& recorded = {},
                          const std::vector<Note>& notes = {}, const std::optional<BestCaps>& best = {},
                          const std::optional<Cell::Fields>& explanation = {});
std::string sweep_json(const SweepResult& result, const ScenarioInfo& scenario, const ToolInfo& tool);

}  // namespace ddpsim
