#pragma once
// Ways to spread a model over GPUs, fastest first (`ddpsim plan`).
#include <iosfwd>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "sim/base/note.hpp"
#include "sim/base/terminal.hpp"
#include "sim/report/result_json.hpp"
#include "sim/result/metrics.hpp"
#include "sim/result/odds.hpp"

namespace ddpsim {

struct PlannedPoint {
  using Setting = std::pair<std::string, std::string>;  // a scenario key and its value, as --set takes them
  std::vector<Setting> settings;
  IterationMetrics metrics;
  std::vector<Note> notes = {};  // of its scenario
  // One of the settings, of what is reduced at once, and the share of a step that it saves; none: the
  // default.
  std::optional<Setting> bucket_size = {};
  double bucket_size_saves = 0;
  std::optional<Odds> odds = {};  // among those that are compared; none: nothing is in doubt
};

// "": it has none of that key.
std::string setting(const std::vector<PlannedPoint::Setting>& settings, std::string_view key);

// The step of a launch file as it stands.
struct LaunchedStep {
  std::string file;
  bool has_micro_batch = true;  // else it has a micro-batch of 1
  std::optional<IterationMetrics> metrics = {};
  std::string refusal = {};  // without metrics: why there is none
};

struct Plan {
  std::vector<PlannedPoint> best;  // of least regret first, then those without odds, fastest first
  // The one to take: the first, unless plain data parallelism cannot be told apart from it. There is one.
  [[nodiscard]] std::size_t chosen() const;
  // Combinations: that there are, that do not fit, that a bound ruled out, that were simulated.
  std::size_t considered = 0, too_large = 0, ruled_out = 0, simulated = 0;
  std::size_t bucket_sizes = 0;  // tried of the fastest, besides
  // Interrupted: of those that fit so many were looked at, and no other is faster than the bound.
  struct Unseen {
    std::size_t seen, all;
    Seconds bound;
  };
  std::optional<Unseen> unseen = {};
  // Where none fits: how little memory one needs at least, over a GPU's.
  double least_memory = 0;
  std::vector<PlannedPoint::Setting> smallest;  // of that one
  std::optional<LaunchedStep> launched = {};    // none: no file launches it
};

// `most_memory`: share of a GPU's that a step may take.
void print_plan(std::ostream& out, const Terminal& terminal, const Plan& plan, double most_memory);
std::string plan_json(const Plan& plan, const std::vector<Note>& notes, const ToolInfo& tool);
std::string plan_csv(const Plan& plan);

}  // namespace ddpsim
