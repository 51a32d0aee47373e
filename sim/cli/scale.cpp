#include "sim/study/scale.hpp"

#include <algorithm>
#include <iostream>
#include <memory>
#include <optional>
#include <set>

#include <fmt/format.h>

#include "sim/base/limits.hpp"
#include "sim/base/output_file.hpp"
#include "sim/base/progress_line.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/notes.hpp"
#include "sim/cli/number_lists.hpp"
#include "sim/cli/scenario_options.hpp"
#include "sim/config/overrides.hpp"
#include "sim/process/worker_threads.hpp"
#include "sim/report/charts.hpp"
#include "sim/report/growth.hpp"
#include "sim/resolve/unused_axes.hpp"
#include "sim/study/notes.hpp"
#include "sim/study/point_runs.hpp"

namespace ddpsim::cli {
namespace {

struct ScaleOptions {
  ScenarioOptions scenario;
  std::optional<std::string> gpus;
  std::string plot;
  bool strong = false, markdown = false;
};

std::string picture(const Growth& growth, const std::string& title) {
  SweepResult result;
  result.title = title;
  result.axes = {"GPUs"};
  for (const auto& point : growth.points)
    result.points.push_back({{fmt::format("{}", point.metrics.world_size)}, point.metrics, {}});
  return svg(bar_chart(result));
}

// Powers of two, times what the scenario takes at least.
std::string usual_counts(const PossibleCounts& possible) {
  constexpr std::int64_t kLeast = 8, kMost = 4096;
  auto from = possible.least;
  while (from < kLeast) from *= 2;
  return fmt::format("{}:{}", from, std::max(from, kMost));
}

std::vector<int> counts_of(const ScaleOptions& options, const config::Value& root) {
  auto possible = possible_counts(root);
  auto text = options.gpus.value_or(usual_counts(possible));
  auto counts = parse_counts(text, "--gpus", kLargestWorldSize);
  auto refused = std::find_if(counts.begin(), counts.end(), [&](int gpus) { return !possible.has(gpus); });
  if (refused == counts.end()) return counts;
  bool is_least_more = possible.least > possible.multiple;
  throw InputError(
      whole_file(make_source("--gpus", text)),
      fmt::format("the scenario cannot run on {} GPUs: '{}' takes multiples of {}{}", *refused, possible.key,
                  possible.multiple, is_least_more ? fmt::format(" from {} on", possible.least) : ""),
      fmt::format("name such numbers, like --gpus {}", usual_counts(possible)));
}

void scale(const ScaleOptions& options) {
  options.scenario.check_outputs({{"--plot", options.plot}});
  check_plot_path(options.plot);
  std::vector<Note> said;  // while it was loaded
  auto root = options.scenario.load(said);
  auto whole = root;
  auto axes = take_unused_axes(root);
  auto gpus = counts_of(options, root);
  // Of a model by name, a batch is that of the first size.
  if (!says(root, "cluster.world_size"))
    for (auto* one : {&whole, &root})
      config::apply_override(*one, fmt::format("cluster.world_size={}", gpus.front()), "--gpus");
  auto written = options.scenario.written(whole);
  Files files(options.scenario.file);
  Growth growth{options.strong ? Scaling::strong : Scaling::weak, {}};
  auto scaled = with_progress(options.scenario.quiet,
                              [&] { return scaled_scenarios(root, gpus, growth.scaling, files); });
  std::vector<Scenario> scenarios;
  for (auto& one : scaled) scenarios.push_back(std::move(one.scenario));
  auto points = unchanged(scenarios);
  growth.notes = notes_of(scenarios, points);
  for (const auto& axis : axes)
    if (axis.key != "cluster.world_size")
      growth.notes.push_back(
          {"sweep-left-out", fmt::format("the sweep over {} is left out; see 'ddpsim sweep'", axis.key)});
  if (!options.scenario.quiet) print_notes(growth.notes);
  growth.notes.insert(growth.notes.begin(), said.begin(), said.end());
  ProgressLine progress(options.scenario.quiet, "sizes");
  progress.show_done(0, points.size());
  run_points(
      points, all_cores(),
      [&](std::size_t i, const Prediction&, IterationMetrics metrics) {
        metrics.buckets.clear();
        growth.points.push_back({std::move(metrics), scaled[i].share});
        progress.show_done(growth.points.size(), points.size());
      },
      throw_lost);
  progress.clear();
  if (options.scenario.prints_summary())
    print_growth(std::cout, standard_output(), growth,
                 options.markdown ? TableStyle::markdown : TableStyle::text);
  OutputPhase writing;
  write_output(options.scenario.out, written);
  write_output(options.scenario.json, [&] {
    return growth_json(growth, {options.scenario.file, options.scenario.overrides, {}}, tool_info());
  });
  write_output(options.scenario.csv, [&] { return growth_csv(growth); });
  write_output(options.plot, [&] { return picture(growth, options.scenario.file); });
}

}  // namespace

Command scale_command() {
  auto options = std::make_shared<ScaleOptions>();
  Command command{.name = "scale",
                  .description = "What a job loses as it grows, by cause",
                  .example = "  ddpsim scale configs/llama-2-7b-64xh100.yaml --gpus 8:4096 --plot growth.svg",
                  .run = [options] { scale(*options); }};
  options->scenario.add_to(command);
  options->scenario.add_job_to(command, {"--gpus"});
  command.options.insert(
      command.options.end(),
      {{.name = "--gpus",
        .value = &options->gpus,
        .description =
            "How many: 8,64,512, or FROM:TO:FACTOR (a factor of 2 unless said; default: 8:4096, or from as "
            "many on as share a model)"},
       {.name = "--strong",
        .value = &options->strong,
        .description = "All GPUs together do what those of the scenario do (else each the same)"},
       {.name = "--markdown", .value = &options->markdown, .description = "Print the table as Markdown"},
       output_option("--plot", &options->plot, "Draw what the iterations are made of (.svg)")});
  return command;
}

}  // namespace ddpsim::cli
