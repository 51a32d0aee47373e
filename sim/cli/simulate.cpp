#include <iostream>
#include <memory>
#include <optional>

#include <fmt/format.h>

#include "sim/base/output_file.hpp"
#include "sim/base/quantity.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/scenario_options.hpp"
#include "sim/config/overrides.hpp"
#include "sim/config/sweep_axes.hpp"
#include "sim/engine/run_all.hpp"
#include "sim/engine/scenario_reader.hpp"
#include "sim/report/chrome_timeline.hpp"
#include "sim/report/console.hpp"
#include "sim/report/measured_iterations.hpp"
#include "sim/report/result_csv.hpp"

namespace ddpsim::cli {
namespace {

struct SimulateOptions {
  ScenarioOptions scenario;
  std::string timeline;
};

void simulate(const SimulateOptions& options) {
  options.scenario.check_outputs({{"--timeline", options.timeline}});
  auto root = options.scenario.load();
  auto axes = config::take_sweep_axes(root);  // checked, and left out: one scenario is simulated
  Scenario scenario = ScenarioReader(options.scenario.file).read(root);
  if (!options.scenario.quiet) {
    report_table_use({&scenario, 1});
    warn_if_slow({&scenario, 1});
    for (const auto& axis : axes)
      fmt::print(stderr, "note: the sweep over {} is left out; see 'ddpsim sweep'\n", axis.key);
  }
  std::vector<MeasuredIteration> measured;
  if (scenario.measured_iterations) measured = read_measured_iterations(*scenario.measured_iterations);
  Timeline timeline;
  run_all({&scenario, 1}, 1, simulator_for,
          [&](std::size_t, Timeline result) { timeline = std::move(result); });
  IterationMetrics metrics = metrics_of(scenario, timeline);
  if (options.scenario.prints_summary()) print_iteration(std::cout, metrics);
  if (auto match = matching(measured, metrics); match && options.scenario.prints_summary())
    std::cout << fmt::format("\nmeasured {}: the prediction is {:+.1f} % off\n",
                             format_seconds(match->iteration), 100 * relative_error(metrics, *match));
  if (!options.scenario.quiet) report_unmatched(measured, {&metrics, 1});
  OutputPhase writing;
  write_output(options.scenario.json, simulate_json(metrics, tool_info()));
  write_output(options.scenario.csv, buckets_csv(metrics));
  if (!options.timeline.empty())
    write_whole_file(options.timeline, chrome_timeline_json(timeline, context_of(scenario)));
}

}  // namespace

void add_simulate(CLI::App& app, Action& run) {
  auto* command = app.add_subcommand(
      "simulate", "Simulate one scenario: what the iteration is made of, bucket by bucket");
  auto options = std::make_shared<SimulateOptions>();
  options->scenario.add_to(*command);
  add_output(*command, "--timeline", options->timeline,
             "Write a timeline that opens in Perfetto or chrome://tracing");
  command->footer(
      "Example:\n  ddpsim simulate configs/quickstart.yaml --set ddp.bucket_cap=100MiB --timeline "
      "timeline.json");
  command->callback([options, &run] { run = [options] { simulate(*options); }; });
}

}  // namespace ddpsim::cli
