#include <algorithm>
#include <filesystem>
#include <iostream>
#include <memory>
#include <optional>
#include <sstream>

#include <fmt/core.h>

#include "sim/base/output_file.hpp"
#include "sim/base/progress_line.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/standard_error.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/notes.hpp"
#include "sim/cli/scenario_options.hpp"
#include "sim/cli/simulation_checks.hpp"
#include "sim/process/worker_threads.hpp"
#include "sim/report/charts.hpp"
#include "sim/report/chrome_timeline.hpp"
#include "sim/report/console.hpp"
#include "sim/report/recorded_comparison.hpp"
#include "sim/report/result_csv.hpp"
#include "sim/report/result_json.hpp"
#include "sim/report/step_strip.hpp"
#include "sim/resolve/resolve.hpp"
#include "sim/resolve/unused_axes.hpp"
#include "sim/result/measured_iterations.hpp"
#include "sim/study/best_caps.hpp"
#include "sim/study/explain.hpp"
#include "sim/study/notes.hpp"
#include "sim/study/simulate_once.hpp"

namespace ddpsim::cli {
namespace {

struct SimulateOptions {
  ScenarioOptions scenario;
  std::string timeline, plot;
  std::optional<std::string> recorded;
  bool all_buckets = false, check_fidelity = false, check_network = false, explain = false, best_caps = false;
  int check_ranks = 32;
  int draws = 0;  // 0: by curves
};

// What the simulation is compared with.
struct Comparisons {
  std::optional<FidelityCheck> fidelity;
  std::vector<MeasuredIteration> measured;
  std::optional<RecordedCommunication> recorded;
};

// Of several groups the recording is beside the one whose terms are reported, and all must be alike.
RecordedCommunication read_recorded(const std::string& path, const Scenario& scenario) {
  auto recorded = read_recorded_communication(path);
  std::vector<int> groups;
  for (const auto& group : scenario.groups) groups.push_back(group.ranks);
  check_recorded(recorded, path, groups, *scenario.trace, scenario.plan, scenario.ddp);
  return recorded;
}

Comparisons read_comparisons(const SimulateOptions& options, const config::Value& root,
                             const Scenario& scenario) {
  if (options.best_caps) check_best_caps(scenario);
  check_draws(options.draws, scenario.evidence && !scenario.evidence->lines.empty());
  if (options.recorded && scenario.parallel)  // not written for them yet
    throw InputError("--recorded knows nothing of models that GPUs share",
                     "'simulate --explain' says what bounds this one");
  Comparisons with;
  if (options.check_fidelity)
    with.fidelity = read_fidelity_check(options.scenario.file, root, scenario, options.check_ranks);
  if (options.check_network) require_other_network(scenario);
  if (const auto& path = scenario.validation.measured) with.measured = read_measured_iterations(*path);
  if (options.recorded) with.recorded = read_recorded(*options.recorded, scenario);
  return with;
}

void print_summary(const SimulateOptions& options, const Timeline& timeline, const IterationMetrics& metrics,
                   const std::vector<MeasuredIteration>& measured) {
  if (!options.scenario.prints_summary()) return;
  print_step_strip(std::cout, standard_output(), timeline.last_to_finish());
  print_iteration(std::cout, standard_output(), metrics,
                  options.all_buckets ? metrics.buckets.size() : kUsualBuckets);
  if (auto match = matching(measured, metrics))
    std::cout << fmt::format("\nmeasured {}: the prediction is {:+.1f} % off\n",
                             format_seconds(match->iteration), 100 * relative_error(metrics, *match));
}

// Beside the summary; on standard error where there is none.
void tell(const ScenarioOptions& options, const std::string& text) {
  const auto& terminal = options.prints_summary() ? standard_output() : standard_error();
  std::string wrapped, line;
  for (std::istringstream lines(text); std::getline(lines, line);)
    wrapped +=
        terminal.wrapped(line, Look::plain, std::min(line.find_first_not_of(' '), line.size()) + 2) + '\n';
  options.prints_summary() ? void(std::cout << wrapped) : write_stderr(wrapped);
}

Cell::Fields tell_explanation(const ScenarioOptions& options, const config::Value& root,
                              const IterationMetrics& metrics) {
  std::ostringstream explanation;
  ProgressLine progress(options.quiet, "changes");
  auto found = explain(explanation, options.file, options.typed_as_file(), root, metrics,
                       [&](std::size_t done, std::size_t all) { progress.show_done(done, all); });
  progress.clear();
  tell(options, explanation.str());
  if (options.out.empty() && options.typed_as_file() != options.typed())
    tell(options, fmt::format("  (--out {} writes this job)\n", options.typed_as_file()));
  return found;
}

BestCaps find_best_caps(const Scenario& scenario, bool quiet) {
  ProgressLine progress(quiet, "caps");
  auto best = best_caps(scenario, all_cores(),
                        [&](std::size_t done, std::size_t all) { progress.show_done(done, all); });
  progress.clear();
  return best;
}

void simulate(const SimulateOptions& options) {
  options.scenario.check_outputs({{"--timeline", options.timeline}, {"--plot", options.plot}});
  check_plot_path(options.plot);
  std::vector<Note> said;  // while it was loaded
  auto root = options.scenario.load(said);
  auto written = options.scenario.written(root);
  auto axes = take_unused_axes(root);  // checked, and left out: one scenario is simulated
  bool quiet = options.scenario.quiet;
  auto scenario = with_progress(quiet, [&] { return resolve(Files(options.scenario.file), root); });
  auto notes = notes_before(scenario, axes);
  if (!quiet) print_notes(notes);
  notes.insert(notes.begin(), said.begin(), said.end());
  auto with = read_comparisons(options, root, scenario);
  const auto simulated = with_progress(quiet, [&] {
    return options.draws == 0
               ? simulate_once(scenario)
               : simulate_once(scenario, Simulator(), all_cores(), static_cast<std::size_t>(options.draws));
  });
  const auto metrics = shown_metrics(scenario, simulated.metrics);
  if (auto note = memory_note(metrics)) {
    if (!quiet && !options.scenario.prints_summary()) print_notes({&*note, 1});
    notes.push_back(*std::move(note));
  }
  print_summary(options, simulated.prediction.timeline, metrics, with.measured);
  std::optional<RecordedComparison> comparison;
  if (with.recorded) {
    comparison = compare_recorded(*with.recorded, metrics);
    if (options.scenario.prints_summary()) print_comparison(std::cout, *comparison);
  }
  std::optional<Cell::Fields> explanation;
  if (options.explain) explanation = tell_explanation(options.scenario, root, metrics);
  std::optional<BestCaps> best;
  if (options.best_caps)
    tell(options.scenario, best_caps_text(best.emplace(find_best_caps(scenario, quiet))));
  auto unmatched = unmatched_notes(with.measured, {&metrics, 1});
  if (!quiet) print_notes(unmatched);
  notes.insert(notes.end(), unmatched.begin(), unmatched.end());
  if (with.fidelity) tell(options.scenario, fidelity_check_text(*with.fidelity, quiet));
  if (options.check_network)
    tell(options.scenario, network_check_text(scenario, simulated.prediction, quiet));
  OutputPhase writing;
  write_output(options.scenario.out, written);
  write_output(options.scenario.json,
               [&] { return simulate_json(metrics, tool_info(), comparison, notes, best, explanation); });
  write_output(options.scenario.csv, [&] { return buckets_csv(metrics); });
  write_output(options.plot, [&] {
    return svg(gantt_chart(simulated.prediction.timeline, metrics,
                           std::filesystem::path(options.scenario.file).stem()));
  });
  if (!options.timeline.empty())
    write_whole_file(options.timeline,
                     chrome_timeline_json(simulated.prediction.timeline, context_of(scenario)));
}

}  // namespace

Command simulate_command() {
  auto options = std::make_shared<SimulateOptions>();
  Command command{
      .name = "simulate",
      .description = "One step: what it is made of, and with --explain what would change it",
      .example =
          "  ddpsim simulate configs/quickstart.yaml --set ddp.bucket_cap=100MiB --timeline timeline.json",
      .run = [options] { simulate(*options); }};
  options->scenario.add_to(command);
  options->scenario.add_iterations_to(command);
  options->scenario.add_job_to(command);
  command.options.insert(
      command.options.end(),
      {output_option("--timeline", &options->timeline,
                     "Write a timeline that opens in Perfetto or chrome://tracing"),
       output_option("--plot", &options->plot, "Draw the step as a Gantt chart (.svg)"),
       draws_option(&options->draws),
       {.name = "--recorded",
        .value = &options->recorded,
        .description = "Recorded collectives (CSV): print the simulated all-reduces beside them",
        .type = "PATH"},
       {.name = "--buckets",
        .value = &options->all_buckets,
        .description = "Print every bucket, not just the first and the last few"},
       {.name = "--explain",
        .value = &options->explain,
        .description =
            "Say what bounds the iteration, and simulate what would change it: other caps, strategies, "
            "algorithms, links, no stragglers, no interference"},
       {.name = "--best-caps",
        .value = &options->best_caps,
        .description = "Look for the best list of ddp.bucket_caps, one a bucket, beside the best single cap"},
       {.name = "--check-fidelity",
        .value = &options->check_fidelity,
        .description = "Simulate the scenario with few ranks flow by flow as well, and print the difference"},
       {.name = "--check-ranks",
        .value = &options->check_ranks,
        .description = "Ranks of that check, at most",
        .shows_default = true,
        .range = {{2, 1024}}},
       {.name = "--check-network",
        .value = &options->check_network,
        .description =
            "Where links are shared, simulate the scenario on the other network as well (SimGrid beside "
            "the builtin one), and print the largest difference"}});
  return command;
}

}  // namespace ddpsim::cli
