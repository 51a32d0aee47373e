#pragma once
// Results as JSON. The keys and their order are stable (docs/reference/results.md); the same input gives the
// same bytes.
#include <optional>
#include <string>
#include <vector>

#include "sim/report/best_caps.hpp"
#include "sim/report/recorded_comparison.hpp"
#include "sim/result/columns.hpp"
#include "sim/result/metrics.hpp"
#include "sim/result/run_info.hpp"
#include "sim/result/sweep_result.hpp"

namespace ddpsim {

// One point with its buckets, beside what was recorded where there is something, and what --explain found.
std::string simulate_json(const IterationMetrics& metrics, const ToolInfo& tool,
                          const std::optional<RecordedComparison>& recorded = {},
                          const std::vector<Note>& notes = {}, const std::optional<BestCaps>& best = {},
                          const std::optional<Cell::Fields>& explanation = {});
std::string sweep_json(const SweepResult& result, const ScenarioInfo& scenario, const ToolInfo& tool);

}  // namespace ddpsim
