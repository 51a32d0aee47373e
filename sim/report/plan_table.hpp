#pragma once
// Ways to spread a model over GPUs, fastest first (`ddpsim plan`).
#include <iosfwd>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/note.hpp"
#include "sim/report/metrics.hpp"
#include "sim/report/result_json.hpp"

namespace ddpsim {

struct PlannedPoint {
  std::vector<std::pair<std::string, std::string>> settings;  // scenario keys, as --set takes them
  IterationMetrics metrics;
  std::vector<Note> notes = {};  // of its scenario
};

struct Plan {
  std::vector<PlannedPoint> best;  // fastest first
  // Combinations: that there are, that do not fit, that a bound ruled out, that were simulated.
  std::size_t considered = 0, too_large = 0, ruled_out = 0, simulated = 0;
  // Where none fits: how little memory one needs at least, over a GPU's.
  double least_memory = 0;
  std::vector<std::pair<std::string, std::string>> smallest;  // of that one
};

// `most_memory`: share of a GPU's that a step may take.
void print_plan(std::ostream& out, const Plan& plan, double most_memory);
std::string plan_json(const Plan& plan, const std::vector<Note>& notes, const ToolInfo& tool);
std::string plan_csv(const Plan& plan);

}  // namespace ddpsim
