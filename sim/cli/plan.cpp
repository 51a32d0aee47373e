#include "sim/study/plan.hpp"

#include <iostream>
#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/limits.hpp"
#include "sim/base/output_file.hpp"
#include "sim/base/progress_line.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/notes.hpp"
#include "sim/cli/preset_options.hpp"
#include "sim/cli/scenario_options.hpp"
#include "sim/cli/scenario_text.hpp"
#include "sim/config/overrides.hpp"
#include "sim/resolve/workload_model.hpp"

namespace ddpsim::cli {
namespace {

struct PlanOptions {
  std::string model, topology, gpus, batch, dtype, framework, sequence, json, csv, out;
  std::vector<std::string> overrides, strategies;
  double most_memory = kFittingShare;
  int top = 10;
  bool context = false, quiet = false;
};

std::string sequence_of(const PlanOptions& options) {
  if (!options.sequence.empty()) return options.sequence;
  auto own = own_sequence(any_model_of("MODEL", options.model));
  if (own == 0)
    throw InputError(fmt::format("'{}' takes samples of any length", options.model),
                     "say the tokens of one: --sequence 4096");
  return std::to_string(own);
}

// As --set takes it, and what it was typed with.
struct Assignment {
  std::string option, text;
};

std::vector<Assignment> assignments_of(const PlanOptions& options) {
  std::vector<Assignment> assignments;
  auto set = [&assignments](const std::string& option, const std::string& key, const std::string& text) {
    if (!text.empty()) assignments.push_back({option, key + "=" + text});
  };
  set("MODEL", "workload.model", options.model);
  set("--sequence", "workload.sequence", sequence_of(options));
  set("--dtype", "workload.dtype", options.dtype);
  set("--framework", "workload.framework", options.framework);
  set("--topology", "cluster.topology", options.topology);
  set("--gpus", "cluster.world_size", options.gpus);
  set("--global-batch", "batch.global", options.batch);
  for (const auto& one : options.overrides) assignments.push_back({"--set", one});
  return assignments;
}

config::Value root_of(const std::vector<Assignment>& assignments) {
  config::Value root;
  root.kind = config::Value::Kind::map;
  root.span.file = std::make_shared<const SourceFile>(SourceFile{"plan", {}});
  for (const auto& [option, text] : assignments) config::apply_override(root, text, option);
  return root;
}

// The fastest as a file; where nothing fits there is none.
std::string best_scenario(const std::vector<Assignment>& assignments, const Plan& plan) {
  std::vector<std::string> texts;
  for (const auto& one : assignments) texts.push_back(one.text);
  for (const auto& [key, value] : plan.best[plan.chosen()].settings) texts.push_back(key + "=" + value);
  return "# Made by 'ddpsim plan': the best of what it tried.\n" + scenario_text(texts);
}

void plan(const PlanOptions& options) {
  check_outputs({{"--json", options.json}, {"--csv", options.csv}, {"--out", options.out}});
  auto assignments = assignments_of(options);
  auto root = root_of(assignments);
  auto space = usual_plan_space();
  space.most_memory = options.most_memory;
  space.wanted = static_cast<std::size_t>(options.top);
  if (options.context) space.long_sequence = 0;
  if (!options.strategies.empty()) space.strategies = options.strategies;
  Files files("--set");
  ProgressLine progress(options.quiet, "plans that fit");
  FirstInterrupt ends_early;
  auto found = make_plan(root, space, files,
                         [&](std::size_t done, std::size_t all) { progress.show_done(done, all); });
  progress.clear();
  std::vector<Note> notes;
  if (!found.best.empty()) notes = found.best[found.chosen()].notes;
  bool prints = !options.quiet && options.json != "-" && options.csv != "-" && options.out != "-";
  if (!options.quiet) print_notes(notes);
  if (prints) print_plan(std::cout, found, options.most_memory);
  OutputPhase writing;
  write_output(options.json, [&] { return plan_json(found, notes, tool_info()); });
  write_output(options.csv, [&] { return plan_csv(found); });
  if (found.best.empty()) throw ThresholdMissed("nothing fits into a GPU's memory");
  write_output(options.out, [&] { return best_scenario(assignments, found); });
  if (FirstInterrupt::came()) throw Interrupted("interrupted");
}

}  // namespace

Command plan_command() {
  auto options = std::make_shared<PlanOptions>();
  Command command{
      .name = "plan",
      .description =
          "How to spread a model over GPUs: tensor, context, pipeline and data parallelism, micro-batch, "
          "recomputation and strategy, fastest first",
      .example =
          "  ddpsim plan llama-3-70b --topology superpod-h100 --gpus 1024 --global-batch 1024 --sequence "
          "8192",
      .run = [options] { plan(*options); }};
  command.options = {
      {.name = "MODEL",
       .value = &options->model,
       .description = "A model by name, or its file; a scenario's other keys are given by --set",
       .is_required = true,
       .names = names_of(PresetKind::models)},
      {.name = "--topology",
       .value = &options->topology,
       .description = "Cluster, by name or file",
       .is_required = true,
       .names = names_of(PresetKind::topologies)},
      {.name = "--gpus", .value = &options->gpus, .description = "How many GPUs", .is_required = true},
      {.name = "--global-batch",
       .value = &options->batch,
       .description = "Samples a step, of all GPUs",
       .is_required = true},
      {.name = "--sequence",
       .value = &options->sequence,
       .description = "Tokens a sample (default: the model's own number; Llama's and others have none)"},
      {.name = "--dtype",
       .value = &options->dtype,
       .description = "What is computed in: bf16 (the default), fp16, fp8, ..."},
      {.name = "--framework",
       .value = &options->framework,
       .description =
           "Software whose shares of the peak count ('ddpsim list software'; default: fsdp-eager-2023)",
       .names = names_of(PresetKind::software)},
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
  return command;
}

}  // namespace ddpsim::cli
