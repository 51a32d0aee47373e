// `ddpsim calibrate --overlap --all-rows`.
#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <tuple>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/counted.hpp"
#include "sim/base/output_file.hpp"
#include "sim/base/progress_line.hpp"
#include "sim/base/quantity.hpp"
#include "sim/calibrate/overlap_rows_fit.hpp"
#include "sim/cli/calibrate_overlap.hpp"
#include "sim/cli/notes.hpp"
#include "sim/cli/scenario_options.hpp"
#include "sim/compute/rescale.hpp"
#include "sim/config/overrides.hpp"
#include "sim/report/table_parts.hpp"
#include "sim/study/notes.hpp"
#include "sim/study/overlapped_steps.hpp"
#include "sim/study/run_all.hpp"
#include "sim/study/sweep_points.hpp"
#include "sim/text/physics_calibration.hpp"

namespace ddpsim::cli {
namespace {

using calibrate::OverlapFinding;
using calibrate::OverlapParameters;
using calibrate::OverlappedIteration;

struct Rows {
  std::vector<Scenario> scenarios;  // each that a measured row is of
  std::vector<std::string> names;
  std::vector<calibrate::MeasuredOverlap> measured;
  std::optional<std::string> run_set;
  calibrate::KnownOverlap known;
  std::optional<double> compute_scale;  // by a step on one GPU
};

// One measured iteration counts once, whichever points are the same run.
class Matches {
 public:
  Matches(const std::vector<MeasuredIteration>& measured, const std::string& path)
      : measured_(measured), path_(path) {}

  // The row of a point, unless a point before had it.
  std::optional<MeasuredIteration> take(const IterationMetrics& metrics, const std::string& name) {
    auto row = matching(measured_, metrics);
    if (!row) return row;
    auto [found, is_new] =
        points_.try_emplace({row->strategy, row->world_size, row->bucket_cap}, metrics, name);
    if (is_new) return row;
    const auto& [before, before_name] = found->second;
    if (before.iteration != metrics.iteration)
      throw InputError(fmt::format("{}: one measured iteration is that of '{}' and of '{}', which differ",
                                   path_, before_name, name),
                       "sweep only what the measured rows say: strategy, caps and world size");
    return std::nullopt;
  }

 private:
  using Key = std::tuple<std::optional<std::string>, std::optional<int>, std::optional<Bytes>>;
  const std::vector<MeasuredIteration>& measured_;
  const std::string& path_;
  std::map<Key, std::pair<IterationMetrics, std::string>> points_;
};

// Simulates rows, again and again for a fit; how often that will be, the fit does not know.
class RowSimulations {
 public:
  explicit RowSimulations(bool quiet) : progress_(quiet) {}

  std::vector<IterationMetrics> run(const std::vector<Scenario>& scenarios) {
    std::vector<IterationMetrics> all(scenarios.size());
    run_all(scenarios, 1, [&](std::size_t i, const Prediction& prediction) {
      all[i] = metrics_of(scenarios[i], prediction);
      progress_.show(fmt::format("{} simulated", counted(++done_, "step")));
    });
    return all;
  }
  // Before anything is printed.
  void clear() { progress_.clear(); }

 private:
  ProgressLine progress_;
  int done_ = 0;
};

// A step on one GPU, where nothing is communicated, says how much longer than the scenario has it compute
// takes. Takes its row out.
std::optional<double> take_compute_scale(std::vector<MeasuredIteration>& rows, const Scenario& scenario,
                                         const std::string& path) {
  auto is_alone = [](const MeasuredIteration& row) { return row.world_size == 1; };
  auto alone = std::find_if(rows.begin(), rows.end(), is_alone);
  if (alone == rows.end()) return std::nullopt;
  if (std::count_if(rows.begin(), rows.end(), is_alone) > 1)
    throw InputError(fmt::format("{} has several steps on one GPU", path),
                     "one is enough: caps and strategies differ in communication only");
  if (scenario.parallel)
    throw InputError(fmt::format("{} has a step on one GPU, and here GPUs share the model", path),
                     "remove the row with world_size 1");
  const auto& trace = *scenario.trace;
  auto passes = static_cast<double>(scenario.plan.accumulation_steps);
  Seconds compute =
      passes * (trace.forward.value_or(Seconds()) + trace.backward()) + trace.optimizer.value_or(Seconds());
  double scale = alone->iteration / compute;
  if (std::abs(scale - 1) > calibrate::kLargestMiss)
    throw InputError(
        fmt::format("{}: a step on one GPU takes {}, and the scenario computes for {}", path,
                    format_seconds(alone->iteration), format_seconds(compute)),
        "is it the same model, batch, accumulation and GPU, with forward pass and optimizer in the trace?");
  rows.erase(alone);
  return scale;
}

Rows read_rows(const OverlapOptions& options, RowSimulations& simulations) {
  ScenarioOptions file;
  file.file = options.scenario;
  file.overrides = options.overrides;
  auto root = file.load();
  auto axes = config::take_sweep_axes(root);
  Files files(options.scenario);
  auto plan = expanded(plan_grid(root, std::move(axes), files));
  auto iterations = read_measured_iterations(options.measured);
  Rows rows;
  rows.compute_scale = take_compute_scale(iterations, plan.scenarios.front(), options.measured);
  if (rows.compute_scale)
    for (auto& scenario : plan.scenarios)
      scenario.trace =
          std::make_shared<const LayerTrace>(rescale_trace(*scenario.trace, *rows.compute_scale));
  auto metrics = simulations.run(plan.scenarios);
  simulations.clear();
  print_notes(unmatched_notes(iterations, metrics));
  rows.known = {config::find_at(root, "physics.launch") != nullptr, root.find("spread") != nullptr};
  Matches matches(iterations, options.measured);
  std::vector<std::string> keys;
  for (const auto& axis : plan.axes) keys.push_back(axis.key);
  for (std::size_t i = 0; i < metrics.size(); ++i) {
    auto name = point_name(keys, plan.axis_values[i], metrics[i]);
    auto row = matches.take(metrics[i], name);
    if (!row) continue;
    refuse_mixed_sets(plan.scenarios[i], *row, options.measured);
    rows.run_set = row->run_set;
    rows.measured.push_back({{row->iteration, row->tail, row->communication},
                             static_cast<int>(metrics[i].n_buckets),
                             plan.scenarios[i].groups.front().ranks});
    rows.names.push_back(std::move(name));
    rows.scenarios.push_back(std::move(plan.scenarios[i]));
  }
  return rows;
}

Physics with(Physics physics, const OverlapParameters& parameters) {
  physics.interference = {parameters.compute, parameters.collective};
  if (parameters.launch) physics.overheads.launch = *parameters.launch;
  if (!parameters.spread) return physics;
  physics.spread.ranks = *parameters.spread;
  if (physics.range) physics.range->least.spread = physics.range->most.spread = physics.spread;
  return physics;
}

std::vector<OverlappedIteration> predict(const std::vector<Scenario>& usual,
                                         const OverlapParameters& parameters, RowSimulations& simulations) {
  auto scenarios = usual;
  for (auto& scenario : scenarios) {
    scenario.physics = with(scenario.physics, parameters);
    scenario.physics.range.reset();
  }
  std::vector<OverlappedIteration> predicted;
  for (const auto& metrics : simulations.run(scenarios))
    predicted.push_back({metrics.iteration, metrics.tail, metrics.communication});
  return predicted;
}

std::vector<OverlappedStep> steps_of(const Rows& rows, const OverlapParameters& parameters,
                                     const std::string& path) {
  std::vector<OverlappedStep> steps;
  for (std::size_t i = 0; i < rows.measured.size(); ++i) {
    steps.push_back(
        {fmt::format("{}: {}", path, rows.names[i]), rows.scenarios[i], rows.measured[i].measured.iteration});
    auto& scenario = steps.back().scenario;
    scenario.physics = with(scenario.physics, parameters);
    if (parameters.spread)
      std::erase_if(scenario.doubts, [](const Doubt& one) { return one.of->moves == Moves::spread; });
  }
  return steps;
}

// Of the rows' logarithms about what was fitted, with the freedom that it leaves.
double miss_of(const Rows& rows, const calibrate::OverlapRowsFit& fit) {
  double squares = 0;
  for (std::size_t i = 0; i < rows.measured.size(); ++i) {
    double miss = std::log(fit.predicted[i].iteration / rows.measured[i].measured.iteration);
    squares += miss * miss;
  }
  auto is_fitted = [](const OverlapFinding& one) { return one.standard_error.has_value(); };
  auto fitted = 1 + std::ranges::count_if(fit.others, is_fitted);
  return std::sqrt(squares /
                   static_cast<double>(std::max<std::ptrdiff_t>(1, std::ssize(rows.measured) - fitted)));
}

std::string value_of(const OverlapFinding& finding, const OverlapParameters& parameters) {
  if (finding.name == "launch")
    return fmt::format("launching a collective costs {:.3g} us (standard error {:.2g})",
                       1e6 * parameters.launch->value(), 1e6 * *finding.standard_error);
  if (finding.name == "spread")
    return fmt::format("GPUs differ by {:.2g} % (standard error {:.2g})", 100 * *parameters.spread,
                       100 * *finding.standard_error);
  return fmt::format("collectives beside compute take {:.1f} % longer (standard error {:.1f})",
                     100 * parameters.collective, 100 * *finding.standard_error);
}

void print_fit(const Rows& rows, const calibrate::OverlapRowsFit& fit) {
  if (rows.compute_scale)
    fmt::print(
        "one GPU's step takes {:.4f} of the scenario's compute, and so does all compute below "
        "(in a scenario: workload.rescale.factor, {:.4f} times what it is)\n",
        *rows.compute_scale, *rows.compute_scale);
  fmt::print("beside collectives compute takes {:.1f} % longer (standard error {:.1f})\n",
             100 * fit.parameters.compute, 100 * fit.standard_error);
  for (const auto& finding : fit.others) {
    if (finding.standard_error)
      fmt::print("{}\n", value_of(finding, fit.parameters));
    else
      fmt::print("{}: not fitted: {}\n",
                 finding.name == "collective" ? "collectives apart from compute" : finding.name,
                 finding.because);
  }
  double sum = 0, worst = 0;
  for (std::size_t i = 0; i < rows.measured.size(); ++i) {
    double error = fit.predicted[i].iteration / rows.measured[i].measured.iteration - 1;
    fmt::print("  {}: measured {}, fitted {} ({:+.1f} %)\n", rows.names[i],
               format_seconds(rows.measured[i].measured.iteration),
               format_seconds(fit.predicted[i].iteration), 100 * error);
    sum += std::abs(error);
    worst = std::max(worst, std::abs(error));
  }
  fmt::print("{}, {:.1f} % off on average, {:.1f} % at worst\n", counted(rows.measured.size(), "row"),
             100 * sum / static_cast<double>(rows.measured.size()), 100 * worst);
}

// Where the spread of GPUs is a range that the rows do not tell: what interference is at its ends.
void print_ends_of_spread(const Rows& rows, RowSimulations& simulations) {
  const auto& range = rows.scenarios.front().physics.range;
  if (!range || range->least.spread == range->most.spread) return;
  std::vector<double> found;
  for (const auto& end : {range->least, range->most}) {
    auto scenarios = rows.scenarios;
    for (auto& scenario : scenarios) scenario.physics.spread = end.spread;
    auto fit = calibrate::fit_overlap_rows(
        rows.measured,
        [&](const OverlapParameters& parameters) { return predict(scenarios, parameters, simulations); },
        rows.known);
    found.push_back(100 * fit.parameters.compute);
  }
  simulations.clear();
  fmt::print("were GPUs to differ by {:g} and {:g} %: {:.1f} and {:.1f} %\n", 100 * range->least.spread.ranks,
             100 * range->most.spread.ranks, found[0], found[1]);
}

}  // namespace

void calibrate_overlap_rows(const OverlapOptions& options) {
  check_outputs({{"--out", options.out}});
  RowSimulations simulations(options.quiet);
  auto rows = read_rows(options, simulations);
  auto fit = calibrate::fit_overlap_rows(
      rows.measured,
      [&](const OverlapParameters& parameters) { return predict(rows.scenarios, parameters, simulations); },
      rows.known);
  simulations.clear();
  const auto& parameters = fit.parameters;
  if (!options.accept) refuse_absurd(parameters.compute, parameters.collective);
  if (!options.quiet && options.out != "-") {
    print_fit(rows, fit);
    if (!parameters.spread) print_ends_of_spread(rows, simulations);
  }
  PhysicsCalibration calibration{
      {parameters.compute, parameters.collective}, rows.run_set, parameters.launch, parameters.spread};
  auto measured = evidence_of(steps_of(rows, parameters, options.measured), miss_of(rows, fit), true);
  OutputPhase writing;
  write_output(options.out,
               write_physics_calibration(
                   calibration,
                   fmt::format("{}, {}: {}{}", options.measured, counted(rows.names.size(), "row"),
                               fmt::join(rows.names, "; "),
                               rows.compute_scale
                                   ? fmt::format("; compute x {:.4f}, by one GPU's step", *rows.compute_scale)
                                   : ""),
                   measured));
}

}  // namespace ddpsim::cli
