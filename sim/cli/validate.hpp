#pragma once
// What `validate` can do; validate.cpp has its command line.
#include <string>

#include "validate/comparison/validation_report.hpp"
#include "validate/harness/step.hpp"

#include "sim/cli/scenario_options.hpp"
#include "sim/study/sweep_points.hpp"

namespace ddpsim::cli {

struct ValidateOptions {
  ScenarioOptions scenario;
  // Each as on the command line, empty where it was not given; they replace keys of the section `validation`.
  std::string backend, compute, testbed, measured;
  std::optional<int> ranks;
  std::string workload = "ddp";
  std::string out, plot;
  double precision = 0.5;  // %
  int repetitions = 20;    // at most
  double timeout = 60;     // s
  bool buckets = false, one_process = false;

  // The scenario with those keys replaced.
  [[nodiscard]] config::Value load() const;
  [[nodiscard]] validate::Sampling sampling() const;
  [[nodiscard]] bool quiet() const { return scenario.quiet; }
};

// Simulates every point and compares with somebody's measured iterations, or with real runs of the same
// points.
validate::ValidationReport compare_with_file(const ValidateOptions& options, SweepResult& predicted);
// Nothing on ranks other than rank 0.
std::optional<validate::ValidationReport> compare_with_runs(const ValidateOptions& options,
                                                            SweepResult& predicted);

// Times all-reduces of many sizes, or a total in chunks, and prints them.
void time_all_reduces(const ValidateOptions& options);

// Every point of the plan, simulated.
SweepResult predict(const SweepPlan& plan, const std::string& title, bool quiet);

}  // namespace ddpsim::cli
