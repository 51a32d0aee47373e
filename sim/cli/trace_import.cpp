#include <memory>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/progress_line.hpp"
#include "sim/base/standard_error.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/scenario_options.hpp"
#include "sim/trace/import/importer.hpp"
#include "sim/trace/trace_file.hpp"

namespace ddpsim::cli {
namespace {

using Outputs = std::vector<std::pair<std::string, std::string>>;  // option, path

struct ImportOptions {
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
void check_communication(const ImportOptions& options, const ImportedTrace& imported) {
  if (imported.communication) return;
  for (const auto& [option, path] :
       {std::pair{"--collectives", options.collectives}, std::pair{"--recorded", options.recorded}})
    if (!path.empty())
      throw InputError(fmt::format("{}: no all-reduces with times were recorded", option),
                       "leave it out, or profile a DistributedDataParallel run on GPUs with NCCL");
}

void import(const ImportOptions& options) {
  const auto& importer = find_importer(options.format);
  const Outputs outputs_asked{
      {"--out", options.out}, {"--collectives", options.collectives}, {"--recorded", options.recorded}};
  check_outputs(outputs_asked);
  check_inputs_survive(options.request.inputs, outputs_asked);
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
  print_stderr("wrote {} gradients to {}\n", imported.trace.gradients.size(), options.out);
}

// "layer-times (SIZES.csv TIMES.csv): parameters per layer ..." a line.
std::string formats() {
  std::string text;
  for (const auto& importer : trace_importers())
    text += fmt::format("{}{} ({}): {}", text.empty() ? "" : "\n", importer.name,
                        fmt::join(importer.inputs, " "), importer.summary);
  return text;
}

}  // namespace

void add_trace_import(CLI::App& trace, Action& run) {
  auto* command = trace.add_subcommand("import", "Turn other people's measurements into a layer trace");
  auto options = std::make_shared<ImportOptions>();
  auto& metadata = options->request.metadata;
  command->add_option("--format", options->format, formats())->required();
  command->add_option("IN", options->request.inputs, "Input files, as many as the format reads")->required();
  command->add_option("--out", options->out, "Layer trace to write")->required()->type_name("PATH");
  add_output(*command, "--collectives", options->collectives,
             "pytorch-profiler: all-reduce table to write, of the collectives recorded beside it");
  add_output(*command, "--recorded", options->recorded,
             "pytorch-profiler: when these collectives were ready, started and ended");
  command
      ->add_option("--statistic", options->request.statistic,
                   "layer-times: which column of the times to use (mean); pytorch-profiler: of the steps "
                   "(median)")
      ->check(CLI::IsMember({"mean", "median"}));
  command->add_flag("--untied", options->request.untied, "layer-times: lm_head has a weight of its own");
  command
      ->add_option(
          "--dtype", options->dtype,
          "layer-times: type of the gradients (float32); operator-table: where two bytes leave it open")
      ->check(CLI::IsMember(dtype_names()));
  const CLI::Range count(1, 1'000'000'000);  // what a trace's header takes
  command->add_option("--batch-size", metadata.batch_size, "Samples a GPU and step")->check(count);
  command->add_option("--sequence-length", metadata.sequence_length, "Tokens a sample")->check(count);
  command->add_option("--model", metadata.model, "What was trained");
  command->add_option("--device", metadata.device, "GPU the times were measured on");
  command->add_option("--torch", metadata.torch, "PyTorch version");
  command->add_option("--captured", metadata.captured, "When");
  command->add_option("--source", metadata.source, "Where the figures come from");
  command->footer(
      "Example:\n  ddpsim trace import --format layer-times sizes.csv times.csv --batch-size 4 --out "
      "trace.csv\n  ddpsim trace import --format pytorch-profiler trace.json.gz --out trace.csv");
  command->callback([options, &run] { run = [options] { import(*options); }; });
}

}  // namespace ddpsim::cli
