#include <iostream>
#include <memory>

#include <fmt/format.h>

#include "sim/base/output_file.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/scenario_options.hpp"
#include "sim/trace/layer_times_import.hpp"
#include "sim/trace/trace_file.hpp"
#include "sim/trace/trace_summary.hpp"

namespace ddpsim::cli {
namespace {

void add_show(CLI::App& trace, Action& run) {
  auto* command = trace.add_subcommand("show", "Summary of a layer trace");
  auto file = std::make_shared<std::string>();
  command->add_option("FILE", *file, "Layer trace (CSV)")->required();
  command->footer("Example:\n  ddpsim trace show traces/gpt2-large-a100-bs4.csv");
  command->callback([file, &run] { run = [file] { std::cout << summarize(read_trace(*file)); }; });
}

struct ImportOptions {
  std::string format;
  std::vector<std::string> inputs;
  std::string out, dtype = "float32";
  bool untied = false;
  LayerTimesImport tables;
};

void import(const ImportOptions& options) {
  if (options.inputs.size() != 2)
    throw InputError("--format layer-times reads two files: the layer sizes, then the layer times",
                     "see 'ddpsim trace import --help'");
  if (options.out != "-") check_writable(options.out, "--out");
  LayerTimesImport tables = options.tables;
  tables.sizes_path = options.inputs[0];
  tables.times_path = options.inputs[1];
  tables.tied_embedding = !options.untied;
  tables.dtype = *find_dtype(options.dtype);
  LayerTrace trace = import_layer_times(tables);
  write_output(options.out, write_trace(trace));
  fmt::print(stderr, "wrote {} gradients to {}\n", trace.gradients.size(), options.out);
}

void add_import(CLI::App& trace, Action& run) {
  auto* command = trace.add_subcommand("import", "Turn other people's measurements into a layer trace");
  auto options = std::make_shared<ImportOptions>();
  auto& metadata = options->tables.metadata;
  command
      ->add_option("--format", options->format,
                   "layer-times: parameters per layer and gradient times per layer of a GPT-2")
      ->required()
      ->check(CLI::IsMember({"layer-times"}));
  command->add_option("IN", options->inputs, "Input files; for layer-times: SIZES.csv TIMES.csv")->required();
  command->add_option("--out", options->out, "Layer trace to write")->required()->type_name("PATH");
  command->add_option("--statistic", options->tables.statistic, "Which column of the times to use")
      ->check(CLI::IsMember({"mean", "median"}))
      ->capture_default_str();
  command->add_flag("--untied", options->untied, "lm_head has a weight of its own");
  command->add_option("--dtype", options->dtype, "Type of the gradients")
      ->check(CLI::IsMember({"float16", "bfloat16", "float32", "float64"}))
      ->capture_default_str();
  const CLI::Range count(1, 1'000'000'000);  // what a trace's header takes
  command->add_option("--batch-size", metadata.batch_size, "Samples a GPU and step")->check(count);
  command->add_option("--sequence-length", metadata.sequence_length, "Tokens a sample")->check(count);
  command->add_option("--device", metadata.device, "GPU the times were measured on");
  command->add_option("--torch", metadata.torch, "PyTorch version");
  command->add_option("--captured", metadata.captured, "When");
  command->add_option("--source", metadata.source, "Where the figures come from");
  command->footer(
      "Example:\n  ddpsim trace import --format layer-times sizes.csv times.csv --batch-size 4 --out "
      "trace.csv");
  command->callback([options, &run] { run = [options] { import(*options); }; });
}

}  // namespace

void add_trace(CLI::App& app, Action& run) {
  auto* trace = app.add_subcommand("trace", "Look at layer traces and import them from other formats");
  trace->require_subcommand(1);
  trace->footer("Example:\n  ddpsim trace show traces/gpt2-large-a100-bs4.csv");
  add_show(*trace, run);
  add_import(*trace, run);
}

}  // namespace ddpsim::cli
