#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/counted.hpp"
#include "sim/base/file_kind.hpp"
#include "sim/base/limits.hpp"
#include "sim/base/progress_line.hpp"
#include "sim/base/standard_error.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/scenario_options.hpp"
#include "sim/trace/import/importer.hpp"
#include "sim/trace/trace_file.hpp"

namespace ddpsim::cli {
namespace {

using Outputs = std::vector<std::pair<std::string, std::string>>;  // option, path

struct TraceImportOptions {
  std::string format, out;
  std::string collectives, recorded;  // empty: not wanted
  std::optional<std::string> dtype;
  ImportRequest request;
};

ImportedTrace read(const TraceImporter& importer, ImportRequest request) {
  ProgressLine line(false);
  request.progress = [&line](double share) { line.show(fmt::format("{:.0f} % read", 100 * share)); };
  return import_trace(importer, request);
}

// Throws InputError when an output was asked for that this input cannot give.
void check_communication(const TraceImportOptions& options, const ImportedTrace& imported) {
  if (imported.communication) return;
  for (const auto& [option, path] :
       {std::pair{"--collectives", options.collectives}, std::pair{"--recorded", options.recorded}})
    if (!path.empty())
      throw InputError(fmt::format("{}: no all-reduces with times were recorded", option),
                       "leave it out, or profile a DistributedDataParallel run on GPUs with NCCL");
}

// As --format says, or the first input.
std::string format_of(const TraceImportOptions& options) {
  if (!options.format.empty()) return options.format;
  std::vector<std::string> names;
  for (const auto& importer : trace_importers()) names.emplace_back(importer.name);
  return ddpsim::format_of(options.request.inputs.front(), names, "measurements of layers");
}

void import_into_file(const TraceImportOptions& options) {
  const auto& importer = find_importer(format_of(options));
  const Outputs outputs_asked{
      {"--out", options.out}, {"--collectives", options.collectives}, {"--recorded", options.recorded}};
  check_outputs(outputs_asked);
  for (const auto& [option, path] : outputs_asked)
    if (option != "--out" && !path.empty()) check_understands(importer, option);
  ImportRequest request = options.request;
  if (options.dtype) request.dtype = find_dtype(*options.dtype);
  auto imported = read(importer, request);
  for (const auto& remark : imported.remarks) print_stderr("note: {}\n", remark);
  check_communication(options, imported);
  // All texts first: one that cannot be written leaves no other behind.
  std::vector<std::pair<std::string, std::string>> outputs{{options.out, write_trace(imported.trace)}};
  if (!options.collectives.empty())
    outputs.emplace_back(options.collectives, write_all_reduce_table(*imported.communication));
  if (!options.recorded.empty())
    outputs.emplace_back(options.recorded, write_recorded_communication(*imported.communication));
  OutputPhase writing;
  for (const auto& [path, text] : outputs) write_output(path, text);
  print_stderr("wrote {} to {}\n", counted(imported.trace.gradients.size(), "gradient"), options.out);
}

// "layer-times (SIZES.csv TIMES.csv): parameters per layer ..." a line.
std::string formats() {
  std::string text = "Where the first file does not tell it by itself:";
  for (const auto& importer : trace_importers())
    text += fmt::format("\n{} ({}): {}", importer.name, fmt::join(importer.inputs, " "), importer.summary);
  return text;
}

}  // namespace

Command trace_import_command() {
  auto options = std::make_shared<TraceImportOptions>();
  auto& metadata = options->request.metadata;
  const std::pair<double, double> count{1, kLargestBatch};  // what a trace's header takes
  return {
      .name = "import",
      .description = "Turn other people's measurements into a layer trace",
      .example =
          "  ddpsim trace import sizes.csv times.csv --batch-size 4 --out trace.csv\n"
          "  ddpsim trace import trace.json.gz --out trace.csv",
      .options =
          {{.name = "--format", .value = &options->format, .description = formats()},
           {.name = "IN",
            .value = &options->request.inputs,
            .description = "Input files, as many as the format reads",
            .is_required = true},
           {.name = "--out",
            .value = &options->out,
            .description = "Layer trace to write",
            .type = "PATH",
            .is_required = true},
           output_option(
               "--collectives", &options->collectives,
               "pytorch-profiler: all-reduce table to write, of the collectives recorded beside it"),
           output_option("--recorded", &options->recorded,
                         "pytorch-profiler: when these collectives were ready, started and ended"),
           {.name = "--statistic",
            .value = &options->request.statistic,
            .description =
                "layer-times: which column of the times to use (mean); pytorch-profiler: of the steps "
                "(median)",
            .words = {"mean", "median"}},
           {.name = "--untied",
            .value = &options->request.untied,
            .description = "layer-times: lm_head has a weight of its own"},
           {.name = "--dtype",
            .value = &options->dtype,
            .description =
                "layer-times: type of the gradients (float32); operator-table: where two bytes leave it open",
            .words = dtype_names()},
           {.name = "--batch-size",
            .value = &metadata.batch_size,
            .description = "Samples a GPU and step",
            .range = count},
           {.name = "--sequence-length",
            .value = &metadata.sequence_length,
            .description = "Tokens a sample",
            .range = count},
           {.name = "--model", .value = &metadata.model, .description = "What was trained"},
           {.name = "--device", .value = &metadata.device, .description = "GPU the times were measured on"},
           {.name = "--torch", .value = &metadata.torch, .description = "PyTorch version"},
           {.name = "--captured", .value = &metadata.captured, .description = "When"},
           {.name = "--source", .value = &metadata.source, .description = "Where the figures come from"}},
      .run = [options] { import_into_file(*options); }};
}

}  // namespace ddpsim::cli
