#include "sim/cli/validate.hpp"

#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>

#include "validate/comparison/report_csv.hpp"
#include "validate/comparison/report_json.hpp"
#include "validate/comparison/report_text.hpp"
#include "validate/testbed/testbed.hpp"
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/limits.hpp"
#include "sim/base/output_file.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/notes.hpp"
#include "sim/config/overrides.hpp"
#include "sim/report/charts.hpp"
#include "sim/study/notes.hpp"
#include "sim/study/point_runs.hpp"

namespace ddpsim::cli {
namespace {

// Whether the columns of a table of measured iterations do.
bool tells_points_apart(const validate::ValidationReport& report) {
  return std::all_of(report.axes.begin(), report.axes.end(),
                     [](const auto& axis) { return axis == kBucketCapAxis || axis == "strategy"; });
}

// What validation.measured reads, so that other predictions can be compared with the same run.
std::string measured_csv(const validate::ValidationReport& report) {
  std::string text = "strategy,bucket_cap_bytes,world_size,iteration_s,iteration_std_s\n";
  for (const auto& point : report.points) {
    const auto& metrics = point.predicted;
    text += fmt::format("{},{},{},{},{}\n", metrics.strategy->name(),
                        metrics.bucket_cap ? fmt::format("{:.0f}", metrics.bucket_cap->value()) : "",
                        metrics.world_size, point.measured.value(),
                        point.spread ? fmt::format("{}", point.spread->value()) : "");
  }
  return text;
}

void write_outputs(const ValidateOptions& options, const validate::ValidationReport& report,
                   const SweepResult& predicted) {
  OutputPhase writing;
  std::vector<AxisValues> axes;
  for (const auto& key : report.axes) axes.push_back({key, {}});
  for (const auto& point : report.points)
    for (std::size_t a = 0; a < axes.size(); ++a)
      if (auto& values = axes[a].values;
          std::find(values.begin(), values.end(), point.axis_values[a]) == values.end())
        values.push_back(point.axis_values[a]);
  auto json = validate::validation_json(report, {options.scenario.file, options.scenario.overrides, axes},
                                        tool_info());
  write_output(options.scenario.json, json);
  write_output(options.scenario.csv, validate::validation_csv(report));
  write_output(options.plot, [&] { return svg(sweep_chart(predicted)); });
  if (options.out.empty()) return;
  std::filesystem::path folder(options.out);
  write_whole_file(folder / "report.json", json);
  write_whole_file(folder / "points.csv", validate::validation_csv(report));
  if (tells_points_apart(report)) write_whole_file(folder / "measured.csv", measured_csv(report));
  write_whole_file(folder / "buckets.csv", validate::buckets_csv(report));
}

// Made now, so that nothing is measured in vain.
void make_folder(const std::string& path) {
  if (path.empty()) return;
  std::error_code error;
  std::filesystem::create_directories(path, error);
  if (error)
    throw InputError(fmt::format("cannot make the folder {}: {}", path, error.message()),
                     "name another one with --out");
  for (const char* name : {"report.json", "points.csv", "measured.csv", "buckets.csv"})
    check_outputs({{"--out", (std::filesystem::path(path) / name).string()}});
}

// Where the report is printed it says which thresholds, and why.
void end_as_judged(const validate::ValidationReport& report, bool is_printed) {
  auto missed = report.missed(), noisy = report.too_noisy();
  if (!missed.empty())
    throw ThresholdMissed(is_printed ? "a threshold was missed"
                                     : fmt::format("missed: {}", fmt::join(missed, "; ")));
  if (!noisy.empty())
    throw TooNoisy(
        fmt::format("too noisy to judge{}{}\nhint: measure more often, or on a machine that does "
                    "nothing else",
                    is_printed ? "" : ": ", is_printed ? "" : fmt::format("{}", fmt::join(noisy, "; "))));
}

void validate_scenario(const ValidateOptions& options) {
  options.scenario.check_outputs({{"--plot", options.plot}});
  check_plot_path(options.plot);
  if (options.workload != "ddp") return time_all_reduces(options);
  make_folder(options.out);
  SweepResult predicted;
  std::optional<validate::ValidationReport> report;
  auto root = options.load();
  if (config::find_at(root, "validation.measured"))
    report = compare_with_file(options, predicted);
  else
    report = compare_with_runs(options, predicted);
  if (!report) return;  // rank 0 tells
  if (options.scenario.prints_summary()) validate::print_report(std::cout, *report, options.buckets);
  write_outputs(options, *report, predicted);
  end_as_judged(*report, options.scenario.prints_summary());
}

}  // namespace

config::Value ValidateOptions::load() const {
  auto root = scenario.load();
  auto replace = [&](const std::string& key, const std::string& value) {
    if (!value.empty()) config::apply_override(root, "validation." + key + "=" + value);
  };
  replace("backend", backend);
  if (ranks) replace("ranks", fmt::format("{}", *ranks));
  replace("compute", compute);
  if (!measured.empty()) {
    SourceSpan place{make_source("--measured", measured), 1, 1, static_cast<int>(measured.size())};
    auto path = config::scalar_value(std::filesystem::absolute(measured).string(), place);
    config::set_at(root, "validation.measured", path, place);
  }
  if (!testbed.empty()) {
    auto source = make_source("--testbed", testbed);
    auto parsed = validate::parse_testbed({testbed, {source, 1, 1, static_cast<int>(testbed.size())}});
    auto delay = parsed.delay ? fmt::format(", delay: {}s", parsed.delay->value()) : "";
    replace("testbed", fmt::format("{{rate: {}bps{}}}", 8 * parsed.rate.value(), delay));
  }
  return root;
}

validate::Sampling ValidateOptions::sampling() const {
  validate::Sampling sampling;
  sampling.warm_up = 2;
  sampling.least = std::min(6, repetitions);
  sampling.most = repetitions;
  sampling.precision = precision / 100;
  return sampling;
}

SweepResult predict(const SweepPlan& plan, const std::string& title, bool quiet) {
  SweepResult result{{}, {}, {}, title, notes_of(plan.scenarios, plan.points)};
  for (const auto& axis : plan.axes) result.axes.push_back(axis.key);
  if (!quiet) print_notes(result.notes);
  run_points(plan.points, 1, [&](std::size_t i, const Prediction&, IterationMetrics metrics) {
    result.points.push_back({plan.axis_values[i], std::move(metrics), {}});
  });
  return result;
}

Command validate_command() {
  auto options = std::make_shared<ValidateOptions>();
  Command command{
      .name = "validate",
      .description =
          "Run the scenario for real, or take measured iterations, and compare with the prediction",
      .example = "  ddpsim validate configs/testbed-8.yaml --out results --plot validation.svg",
      .run = [options] { validate_scenario(*options); }};
  options->scenario.add_to(command);
  command.options.insert(
      command.options.end(),
      {{.name = "--backend",
        .value = &options->backend,
        .description = "Who communicates: Gloo between processes on CPUs, or NCCL between GPUs",
        .words = {"gloo", "nccl"}},
       {.name = "--ranks",
        .value = &options->ranks,
        .description = "Ranks to run; default: the scenario's world size",
        .type = "N",
        .range = {{2, kLargestWorldSize}}},
       {.name = "--compute",
        .value = &options->compute,
        .description = "Wait as long as the trace says, or train its GPT-2 for real",
        .words = {"replay", "model"}},
       {.name = "--testbed",
        .value = &options->testbed,
        .description = "Ranks in network namespaces with shaped links (root): rate=1Gbps[,delay=1ms]",
        .type = "LINKS"},
       {.name = "--measured",
        .value = &options->measured,
        .description = "Compare with measured iterations in a CSV instead of running",
        .type = "PATH",
        .excludes = {"--backend", "--ranks", "--compute", "--testbed", "--workload", "--buckets",
                     "--precision", "--repetitions", "--timeout", "--one-process"}},
       {.name = "--workload",
        .value = &options->workload,
        .description = "The scenario; all-reduces of many sizes; all gradients in chunks of many sizes",
        .shows_default = true,
        .words = {"ddp", "allreduce", "chunks"}},
       output_option("--out", &options->out,
                     "Folder for the calibration, the prediction and everything that was measured", "FOLDER"),
       output_option("--plot", &options->plot,
                     "Draw predicted and measured iteration time against bucket cap (.svg)"),
       {.name = "--buckets",
        .value = &options->buckets,
        .description = "Print the buckets of each point as well"},
       {.name = "--precision",
        .value = &options->precision,
        .description =
            "Repeat until the 95 % confidence interval of the median is within so many percent of it",
        .type = "PERCENT",
        .shows_default = true,
        .range = {{0.01, 50}}},
       {.name = "--repetitions",
        .value = &options->repetitions,
        .description = "But at most so often",
        .shows_default = true,
        .range = {{1, 1e5}}},
       {.name = "--timeout",
        .value = &options->timeout,
        .description = "Longest time for one collective",
        .type = "SECONDS",
        .shows_default = true,
        .range = {{1, 86400}}},
       {.name = "--one-process",
        .value = &options->one_process,
        .description = "All GPUs of this machine as threads of one process (NCCL)"}});
  return command;
}

}  // namespace ddpsim::cli
