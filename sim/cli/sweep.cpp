#include <algorithm>
#include <iostream>
#include <map>
#include <memory>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/output_file.hpp"
#include "sim/base/progress_line.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/notes.hpp"
#include "sim/cli/scenario_options.hpp"
#include "sim/cli/study.hpp"
#include "sim/config/sweep_axes.hpp"
#include "sim/process/worker_threads.hpp"
#include "sim/report/console.hpp"
#include "sim/report/measured_iterations.hpp"
#include "sim/report/plot.hpp"
#include "sim/report/result_csv.hpp"
#include "sim/report/sweep_table.hpp"
#include "sim/study/notes.hpp"
#include "sim/study/point_runs.hpp"
#include "sim/study/sweep_points.hpp"

namespace ddpsim::cli {
namespace {

struct SweepOptions {
  ScenarioOptions scenario;
  StudyOptions study;
  std::string plot;
  unsigned jobs = all_cores();
  bool exact_optimum = false;
};

std::vector<MeasuredIteration> read_measured(const SweepPlan& plan) {
  const auto& path = plan.scenarios.front().validation.measured;
  return path ? read_measured_iterations(*path) : std::vector<MeasuredIteration>{};
}

// Which caps give the buckets of each group's best point: all from its own up to the next distinct one.
void print_cap_ranges(const SweepResult& result) {
  auto cap_axis = *result.find_axis(kBucketCapAxis);
  auto groups = result.groups(cap_axis);
  for (const auto& group : groups) {
    auto best = std::find(group.points.begin(), group.points.end(), result.best_of(group.points));
    auto cap_of = [&](std::size_t point) { return result.points[point].metrics.bucket_cap->value(); };
    fmt::print("{}{}{} distinct bucket assignments; every cap from {:.0f} B {} gives the best one\n",
               group.name, group.name.empty() ? "" : ": ", group.points.size(), cap_of(*best),
               best + 1 == group.points.end() ? "on" : fmt::format("to {:.0f} B", cap_of(*(best + 1)) - 1));
  }
}

// Names the first few points that were lost.
[[noreturn]] void fail_lost(const SweepResult& result, const std::string& hint) {
  constexpr std::size_t kMostNamed = 8;
  std::string message = result.points.empty() ? "no point could be simulated" : result.lost_note();
  for (std::size_t i = 0; i < std::min(result.lost.size(), kMostNamed); ++i) {
    const auto& point = result.lost[i];
    std::vector<std::string> values;
    for (std::size_t axis = 0; axis < result.axes.size(); ++axis)
      values.push_back(fmt::format("{} = {}", result.axes[axis], point.axis_values[axis]));
    message += fmt::format("\n  {}: {}", fmt::join(values, ", "), point.why);
  }
  if (result.lost.size() > kMostNamed)
    message += fmt::format("\n  and {} more", result.lost.size() - kMostNamed);
  throw EnvironmentError(message, hint);
}

// Runs every point; rows appear as their results arrive. Returns the hint of the first lost point, if any.
std::optional<std::string> run_sweep(const SweepOptions& options, const SweepPlan& plan,
                                     SweepResult& result) {
  bool prints = options.scenario.prints_summary() && !options.exact_optimum;
  auto any = [&](auto has) { return std::any_of(plan.scenarios.begin(), plan.scenarios.end(), has); };
  SweepColumns columns{any([](const Scenario& scenario) { return scenario.physics.range.has_value(); }),
                       any([](const Scenario& scenario) { return scenario.sampled != nullptr; }),
                       !result.measured.empty(),
                       any([](const Scenario& scenario) { return scenario.model_step != nullptr; })};
  SweepTable table(std::cout, plan.axes, columns);
  if (prints) table.header();
  ProgressLine progress(options.scenario.quiet);
  std::optional<std::string> hint;
  std::vector<ScenarioVariant> simulated;
  for (std::size_t i = 0; i < plan.points.size(); ++i)
    if (plan.same_as[i] == i) simulated.push_back(plan.points[i]);
  result.points.reserve(plan.points.size());
  std::size_t next = 0;  // row
  std::map<std::size_t, std::optional<std::size_t>>
      rows;  // of simulated points, where their result is; if any
  auto add = [&](IterationMetrics metrics) {
    SweepPoint point{plan.axis_values[next], std::move(metrics), {}};
    point.measured = matching(result.measured, point.metrics);
    progress.clear();
    if (prints) table.row(point);
    progress.show_points(++next, plan.points.size());
    point.metrics.buckets = std::vector<BucketMetrics>();  // of thousands of points too many to keep, and no
                                                           // output of a sweep has them
    result.points.push_back(std::move(point));
  };
  auto lose = [&](const std::string& why) { result.lost.push_back({plan.axis_values[next++], why}); };
  // Points with the buckets of one that is known.
  auto add_known = [&] {
    while (next < plan.points.size() && plan.same_as[next] != next) {
      const auto& row = rows.at(plan.same_as[next]);
      if (!row) {
        lose("has the buckets of a point that is lost");
        continue;
      }
      auto metrics = result.points[*row].metrics;
      auto own = plan.points[next].scenario().plan;
      metrics.bucket_cap = own.bucket_cap;
      metrics.first_bucket_cap = own.first_bucket_cap;
      add(std::move(metrics));
    }
  };
  run_points(
      simulated, options.jobs,
      [&](std::size_t, const Prediction&, IterationMetrics metrics) {
        rows[next] = result.points.size();
        add(std::move(metrics));
        add_known();
      },
      [&](std::size_t, const EnvironmentError& why) {
        rows[next] = std::nullopt;
        lose(why.message());
        if (!hint) hint = why.hint();
        add_known();
      });
  progress.clear();
  if (result.points.empty()) fail_lost(result, *hint);
  if (!options.scenario.prints_summary()) return hint;
  table.footer(result);
  if (options.exact_optimum) print_cap_ranges(result);
  return hint;
}

void sweep(const SweepOptions& options) {
  if (!options.study.results.empty()) return run_study(options.scenario, options.study, options.jobs);
  options.scenario.check_outputs({{"--plot", options.plot}});
  if (!options.plot.empty()) check_plot_path(options.plot);
  std::vector<Note> of_ds_config;
  auto root = options.scenario.load(of_ds_config, true);
  auto axes = config::take_sweep_axes(root);
  if (axes.empty() && !options.exact_optimum)
    throw InputError(root.span, "there is nothing to sweep",
                     "add 'sweep:' with an axis like 'ddp.bucket_cap: [1MiB, 25MiB]', or use 'ddpsim "
                     "simulate' (--set removes the axis it names)");
  ScenarioReader reader(options.scenario.file);
  SweepPlan plan =
      options.exact_optimum ? plan_exact_optimum(root, axes, reader) : plan_grid(root, axes, reader);
  SweepResult result{
      {}, {}, read_measured(plan), options.scenario.file, notes_of(plan.scenarios, plan.points)};
  result.notes.insert(result.notes.begin(), of_ds_config.begin(), of_ds_config.end());
  if (!options.scenario.quiet) print_notes(result.notes);
  for (const auto& axis : plan.axes) result.axes.push_back(axis.key);
  auto hint = run_sweep(options, plan, result);
  if (!result.measured.empty()) {
    std::vector<IterationMetrics> predictions;
    for (const auto& point : result.points) predictions.push_back(point.metrics);
    auto unmatched = unmatched_notes(result.measured, predictions);
    if (!options.scenario.quiet) print_notes(unmatched);
    result.notes.insert(result.notes.end(), unmatched.begin(), unmatched.end());
  }
  OutputPhase writing;
  write_output(options.scenario.json, [&] {
    return sweep_json(result, {options.scenario.file, options.scenario.overrides, plan.axes}, tool_info());
  });
  write_output(options.scenario.csv, [&] { return sweep_csv(result); });
  if (!options.plot.empty()) write_sweep_plot(result, options.plot);
  if (hint) fail_lost(result, *hint);
}

}  // namespace

Command sweep_command() {
  auto options = std::make_shared<SweepOptions>();
  Command command{.name = "sweep",
                  .description = "Simulate every point of the scenario's sweep and mark the best",
                  .example = "  ddpsim sweep configs/quickstart.yaml --csv sweep.csv --plot sweep.svg",
                  .run = [options] { sweep(*options); }};
  options->scenario.add_to(command);
  options->scenario.add_iterations_to(command);
  options->scenario.add_ds_config_to(command);
  command.options.insert(
      command.options.end(),
      {output_option("--plot", &options->plot,
                     "Draw iteration time against bucket cap (.svg or .png; needs gnuplot)"),
       {.name = "--jobs",
        .value = &options->jobs,
        .description = "How many points are simulated at once",
        .shows_default = true,
        .range = {{1, 1024}}},
       {.name = "--exact-optimum",
        .value = &options->exact_optimum,
        .description = "Instead of a grid of caps, try every bucket assignment that any cap can give"}});
  options->study.add_to(command);
  return command;
}

}  // namespace ddpsim::cli
