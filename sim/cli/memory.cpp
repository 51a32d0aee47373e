#include <iostream>
#include <memory>

#include <fmt/core.h>

#include "sim/base/output_file.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/notes.hpp"
#include "sim/cli/scenario_options.hpp"
#include "sim/compute/memory_advice.hpp"
#include "sim/config/sweep_axes.hpp"
#include "sim/report/memory_table.hpp"
#include "sim/text/scenario_reader.hpp"

namespace ddpsim::cli {
namespace {

void memory(const ScenarioOptions& options) {
  options.check_outputs({});
  auto root = options.load();
  config::take_sweep_axes(root);
  auto scenario = ScenarioReader(options.file).read_step(root);
  if (!scenario.model_step)
    throw InputError(
        fmt::format("{}: the workload does not say what a GPU keeps in memory", options.file),
        "name a transformer: workload.model: llama-2-7b; traces and lists of layers say nothing of "
        "activations");
  const auto& step = *scenario.model_step;
  MemoryMetrics metrics{*scenario.memory(), step.gpu.memory, step.gpu.name};
  std::vector<MemoryOption> advice;
  if (!metrics.fits()) advice = memory_options(step, scenario.held_states(), scenario.groups.front().ranks);
  if (!options.quiet) print_notes(scenario.notes);
  if (options.prints_summary()) print_memory(std::cout, metrics, advice);
  OutputPhase writing;
  write_output(options.json,
               [&] { return memory_report_json(metrics, advice, tool_info(), scenario.notes); });
  write_output(options.csv, [&] { return memory_csv(metrics); });
}

}  // namespace

Command memory_command() {
  auto options = std::make_shared<ScenarioOptions>();
  Command command{.name = "memory",
                  .description = "What a GPU holds at the peak of a model's step, and what would make it fit",
                  .example = "  ddpsim memory configs/llama-2-7b.yaml --set workload.micro_batch=4",
                  .run = [options] { memory(*options); }};
  options->add_to(command);
  return command;
}

}  // namespace ddpsim::cli
