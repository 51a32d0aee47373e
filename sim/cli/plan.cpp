#include "sim/study/plan.hpp"

#include <iostream>
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/limits.hpp"
#include "sim/base/output_file.hpp"
#include "sim/base/progress_line.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/job_options.hpp"
#include "sim/cli/launch_options.hpp"
#include "sim/cli/notes.hpp"
#include "sim/cli/preset_options.hpp"
#include "sim/cli/scenario_options.hpp"
#include "sim/cli/scenario_text.hpp"
#include "sim/config/overrides.hpp"
#include "sim/resolve/workload_model.hpp"
#include "sim/study/plan_split.hpp"
#include "sim/study/simulate_once.hpp"

namespace ddpsim::cli {
namespace {

struct PlanOptions {
  LaunchOptions launch;
  JobOptions job;
  std::string model, json, csv, out;
  std::vector<std::string> overrides, strategies;
  double most_memory = kFittingShare;
  int top = 10;
  bool context = false, quiet = false;
};

// Of what is typed; the tokens of a sample are typed, too, where the model has its own number.
config::Value typed_root(const PlanOptions& options) {
  config::Value root;
  root.kind = config::Value::Kind::map;
  root.span.file = std::make_shared<const SourceFile>(SourceFile{"plan", {}});
  options.job.apply(root, options.model);
  options.job.check(options.overrides);
  for (const auto& one : options.overrides)
    if (one.starts_with("strategy="))
      throw InputError("a plan tries strategies itself",
                       fmt::format("name those to try: --strategy {}", one.substr(one.find('=') + 1)));
  for (const auto& one : options.overrides) config::apply_override(root, one);
  return root;
}

void set_sequence(config::Value& root) {
  if (says(root, "workload.sequence") || take_own_sequence(root) > 0) return;
  throw InputError(fmt::format("'{}' takes samples of any length",
                               config::text_of(*config::find_at(root, "workload.model"))),
                   "say the tokens of one: --sequence 4096");
}

void require_all(const PlanOptions& options, const config::Value& root) {
  require({{"MODEL", says(root, "workload.model")},
           {"--on", says(root, "cluster.topology")},
           {"--gpus", says(root, "cluster.world_size")},
           {"--batch", says(root, "batch.global")}},
          options.launch.file() ? options.launch.words().back() + " does not say it; see 'ddpsim plan --help'"
                                : std::string("see 'ddpsim plan --help'"));
}

// The fastest as a file; where nothing fits there is none.
std::string best_scenario(const PlanOptions& options, config::Value root, const Plan& plan) {
  root = with_settings(root, plan.best[plan.chosen()].settings);
  return "# Made by 'ddpsim plan': the best of what it tried.\n" + scenario_text(root, "", options.out);
}

// Of a launch file.
struct AsLaunched {
  std::optional<config::Value> root;
  std::vector<Note> notes;
};

// What a plan looks for itself is taken out of what the file says, and simulated as it stands beside it.
AsLaunched apply_launch(const PlanOptions& options, config::Value& root) {
  if (!options.launch.file()) return {};
  auto launched = options.launch.apply(root, "", false);
  AsLaunched as_launched{root, std::move(launched.notes)};
  if (launched.global_batch && !says(root, "batch.global"))
    config::set_at(root, "batch.global", *launched.global_batch, launched.global_batch->span);
  drop_searched(root);
  return as_launched;
}

// What it takes as it stands, or why there is no such step.
std::optional<LaunchedStep> own_step(const AsLaunched& launched, const PlanOptions& options, Files& files) {
  if (!launched.root) return std::nullopt;
  auto root = *launched.root;
  LaunchedStep step{options.launch.file()->path, says(root, "workload.micro_batch")};
  if (!step.has_micro_batch) config::apply_override(root, "workload.micro_batch=1");
  try {
    auto scenario = resolve(files, root);
    step.metrics = shown_metrics(scenario, simulate_once(scenario).metrics);
    step.metrics->buckets.clear();
  } catch (const InputError& error) {
    step.refusal = error.message();
  }
  return step;
}

void plan(const PlanOptions& options) {
  check_outputs({{"--json", options.json}, {"--csv", options.csv}, {"--out", options.out}});
  auto root = typed_root(options);
  auto launched = apply_launch(options, root);
  if (!options.quiet) print_notes(launched.notes);
  require_all(options, root);
  Files files("--set");
  set_sequence(root);
  auto space = usual_plan_space();
  space.most_memory = options.most_memory;
  space.wanted = static_cast<std::size_t>(options.top);
  if (options.context) space.long_sequence = 0;
  if (!options.strategies.empty()) space.strategies = options.strategies;
  ProgressLine progress(options.quiet, "plans that fit");
  FirstInterrupt ends_early;
  auto found = make_plan(root, space, files,
                         [&](std::size_t done, std::size_t all) { progress.show_done(done, all); });
  progress.clear();
  std::vector<Note> notes;
  if (!found.best.empty()) notes = found.best[found.chosen()].notes;
  bool prints = !options.quiet && options.json != "-" && options.csv != "-" && options.out != "-";
  if (!options.quiet) print_notes(notes);
  notes.insert(notes.begin(), launched.notes.begin(), launched.notes.end());
  found.launched = own_step(launched, options, files);
  if (prints) print_plan(std::cout, standard_output(), found, options.most_memory);
  OutputPhase writing;
  write_output(options.json, [&] { return plan_json(found, notes, tool_info()); });
  write_output(options.csv, [&] { return plan_csv(found); });
  if (found.best.empty()) throw ThresholdMissed("nothing fits into a GPU's memory");
  write_output(options.out, [&] { return best_scenario(options, root, found); });
  if (FirstInterrupt::came()) throw Interrupted("interrupted");
}

}  // namespace

Command plan_command() {
  auto options = std::make_shared<PlanOptions>();
  Command command{.name = "plan",
                  .description = "How to split a model over GPUs, fastest first",
                  .example =
                      "  ddpsim plan llama-3-70b --on superpod-h100 --gpus 1024 --batch 1024 --sequence "
                      "8192",
                  .run = [options] { plan(*options); }};
  command.options = {
      {.name = "MODEL",
       .value = &options->model,
       .description = "A model by name, or its file; a scenario's other keys are given by --set",
       .names = names_of(PresetKind::models)},
      {.name = "--strategy",
       .value = &options->strategies,
       .description = fmt::format("Along the data axis (repeatable; default: {})",
                                  fmt::join(usual_plan_space().strategies, ", ")),
       .type = "STRATEGY",
       .words = strategies_that([](const auto&) { return true; })},
      {.name = "--context",
       .value = &options->context,
       .description = fmt::format("Context parallelism, too, as from {} tokens a sample on", kLongSequence)},
      {.name = "--max-memory",
       .value = &options->most_memory,
       .description = "Share of a GPU's memory that a step may take",
       .shows_default = true,
       .range = std::pair(0.01, 1.0)},
      {.name = "--top",
       .value = &options->top,
       .description = "So many are shown",
       .shows_default = true,
       .range = std::pair(1.0, 1000.0)},
      {.name = "--set",
       .value = &options->overrides,
       .description = "Any other scenario key (repeatable)",
       .type = "KEY=VALUE",
       .names = names_of_keys},
      output_option("--out", &options->out, "Write the fastest as a scenario", "PATH|-"),
      output_option("--json", &options->json, "Write the result as JSON; '-' is standard output", "PATH|-"),
      output_option("--csv", &options->csv, "Write the result as CSV; '-' is standard output", "PATH|-"),
      {.name = "--quiet", .value = &options->quiet, .description = "No summary and no notes"}};
  options->job.add_to(command, {"--micro-batch", "--strategy"});
  options->launch.add_to(command);
  return command;
}

}  // namespace ddpsim::cli
