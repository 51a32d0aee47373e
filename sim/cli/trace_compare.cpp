#include <iostream>
#include <memory>

#include <fmt/format.h>

#include "sim/base/output_file.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/scenario_options.hpp"
#include "sim/compute/operator_times.hpp"
#include "sim/report/step_comparison_table.hpp"
#include "sim/resolve/workload_model.hpp"
#include "sim/text/gpu_file.hpp"
#include "sim/text/presets.hpp"
#include "sim/text/recording_file.hpp"
#include "sim/text/software_file.hpp"
#include "sim/trace/import/pytorch_profiler/profiled_step.hpp"

namespace ddpsim::cli {
namespace {

struct TraceCompareOptions {
  std::string recording, profile, json;
  std::string gpu, framework;  // empty: the recording's, the usual
};

std::string preset(PresetKind kind, const std::string& name) {
  return find_preset(kind, name).value_or(name);
}

// What its operators take of a GPU, without waiting for the host; without a GPU nothing.
RecordedStep step_of(const TraceCompareOptions& options, std::shared_ptr<const Recording> recording,
                     bool has_kernels) {
  RecordedStep step{recording, std::vector<Seconds>(recording->items.size())};
  const auto& name = options.gpu.empty() ? recording->gpu : options.gpu;
  if (!has_kernels || name.empty()) return step;
  auto gpu = read_gpu(preset(PresetKind::gpus, name));
  auto framework = options.framework.empty() ? std::string(usual_framework(gpu)) : options.framework;
  auto software = read_software(preset(PresetKind::software, framework), gpu.name);
  OperatorTimes times(*recording, gpu, software);
  for (std::size_t i = 0; i < step.times.size(); ++i)
    if (const auto* op = std::get_if<RecordedOperator>(&recording->items[i])) step.times[i] = times.of(*op);
  return step;
}

void compare(const TraceCompareOptions& options) {
  check_outputs({{"--json", options.json}});
  auto recording = std::make_shared<const Recording>(read_recording(options.recording));
  auto profiled = pytorch_profiler::read_profiled_step(options.profile);
  auto comparison = compare_steps(step_of(options, recording, profiled.has_kernels), profiled);
  if (options.json != "-") print_step_comparison(std::cout, comparison);
  OutputPhase writing;
  write_output(options.json, [&] { return step_comparison_json(comparison, tool_info()); });
}

}  // namespace

Command trace_compare_command() {
  auto options = std::make_shared<TraceCompareOptions>();
  return {.name = "compare",
          .description = "A recorded step beside a profile of the same script: collectives and operators",
          .example = "  ddpsim trace compare step.jsonl trace.json --framework pytorch-2026",
          .options = {{.name = "RECORDING",
                       .value = &options->recording,
                       .description = "What 'ddpsim record' wrote",
                       .is_required = true},
                      {.name = "PROFILE",
                       .value = &options->profile,
                       .description = "Trace of the PyTorch profiler, of one rank, with record_shapes=True",
                       .is_required = true},
                      {.name = "--gpu",
                       .value = &options->gpu,
                       .description = "GPU that operators are predicted for: a name or a file (default: the "
                                      "recording's)",
                       .type = "GPU"},
                      {.name = "--framework",
                       .value = &options->framework,
                       .description = "Software that they are predicted by: a name or a file",
                       .type = "NAME"},
                      output_option("--json", &options->json, "Write the comparison as JSON")},
          .run = [options] { compare(*options); }};
}

}  // namespace ddpsim::cli
