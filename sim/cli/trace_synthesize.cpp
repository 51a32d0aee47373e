#include <filesystem>
#include <map>
#include <memory>

#include <fmt/format.h>

#include "sim/base/quantity.hpp"
#include "sim/base/standard_error.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/scenario_options.hpp"
#include "sim/roofline/gpt2_model.hpp"
#include "sim/roofline/model_file.hpp"
#include "sim/roofline/synthesize.hpp"
#include "sim/trace/trace_file.hpp"

namespace ddpsim::cli {
namespace {

struct SynthesizeOptions {
  std::string out;
  std::optional<std::string> model, layers, gpu, forward, backward, optimizer;
  std::string compute = "float32", gradients = "float32";
  std::int64_t batch = 4, sequence = 1024;
  double efficiency = kUsualEfficiency;
  std::optional<double> memory_efficiency;
};

// PyTorch's names, and what people call them.
const std::map<std::string, DType>& dtypes() {
  static const std::map<std::string, DType> names{{"float32", DType::float32}, {"bfloat16", DType::bfloat16},
                                                  {"float16", DType::float16}, {"fp32", DType::float32},
                                                  {"bf16", DType::bfloat16},   {"fp16", DType::float16}};
  return names;
}

std::optional<Seconds> parse_time(const char* option, const std::optional<std::string>& text) {
  if (!text) return std::nullopt;
  return parse_seconds({*text, whole_file(make_source(option, *text))});
}

Model load_model(const SynthesizeOptions& options) {
  if (options.layers) return read_model(*options.layers);
  if (!options.model)
    throw InputError("no model is given",
                     "give --model gpt2, or a model file: --layers models/bert-base-qa.yaml");
  if (options.sequence > kGpt2Positions)
    throw InputError(
        fmt::format("--sequence: GPT-2 has {} positions, not {}", kGpt2Positions, options.sequence),
        "a model file (--layers) has any number");
  return gpt2_model(find_gpt2_size(*options.model));
}

SynthesisOptions synthesis_options(const SynthesizeOptions& options) {
  SynthesisOptions synthesis;
  synthesis.batch = {options.batch, options.sequence};
  synthesis.compute = dtypes().at(options.compute);
  synthesis.gradients = dtypes().at(options.gradients);
  synthesis.efficiency = options.efficiency;
  synthesis.memory_efficiency = options.memory_efficiency;
  synthesis.forward = parse_time("--forward", options.forward);
  synthesis.backward = parse_time("--backward", options.backward);
  synthesis.optimizer = parse_time("--optimizer", options.optimizer);
  if (options.gpu)
    synthesis.gpu = read_gpu(*options.gpu);
  else if (!synthesis.forward || !synthesis.backward)
    throw InputError("neither a GPU nor the times of both passes are given",
                     "give --gpu gpus/h100-sxm.yaml, or --forward and --backward, or all three");
  return synthesis;
}

// The command that makes the same trace again, with every default.
std::string command_line(const SynthesizeOptions& options) {
  std::string line = "ddpsim trace synthesize";
  auto add = [&line](const char* option, const auto& value) { line += fmt::format(" {} {}", option, value); };
  auto add_given = [&](const char* option, const auto& value) {
    if (value) add(option, *value);
  };
  add_given("--model", options.model);
  add_given("--layers", options.layers);
  add("--batch", options.batch);
  add("--sequence", options.sequence);
  add("--dtype", dtype_name(dtypes().at(options.compute)));
  add("--gradients", dtype_name(dtypes().at(options.gradients)));
  add_given("--gpu", options.gpu);
  if (options.gpu) add("--efficiency", options.efficiency);
  add_given("--memory-efficiency", options.memory_efficiency);
  add_given("--forward", options.forward);
  add_given("--backward", options.backward);
  add_given("--optimizer", options.optimizer);
  return line;
}

void check_inputs_survive(const SynthesizeOptions& options) {
  std::error_code one_is_missing;
  for (const auto& input : {options.gpu, options.layers})
    if (input && std::filesystem::equivalent(options.out, *input, one_is_missing))
      throw InputError(fmt::format("--out {} would overwrite the input", options.out),
                       "give it another name");
}

void synthesize(const SynthesizeOptions& options) {
  check_outputs({{"--out", options.out}});
  check_inputs_survive(options);
  auto model = load_model(options);
  auto synthesis = synthesis_options(options);
  auto trace = ddpsim::synthesize(model, synthesis);
  trace.metadata.source = command_line(options);
  auto text = write_trace(trace);
  OutputPhase writing;
  write_output(options.out, text);
  print_stderr("wrote {} gradients to {}: estimated, forward {}, backward {}{}\n", trace.gradients.size(),
               options.out, format_seconds(*trace.forward), format_seconds(trace.backward()),
               trace.optimizer ? ", optimizer " + format_seconds(*trace.optimizer) : "");
}

}  // namespace

void add_trace_synthesize(CLI::App& trace, Action& run) {
  auto* command =
      trace.add_subcommand("synthesize", "Estimate a layer trace of a model that nobody recorded");
  auto options = std::make_shared<SynthesizeOptions>();
  std::vector<std::string> sizes;
  for (const auto& size : kGpt2Sizes) sizes.emplace_back(size.name);
  auto* model = command->add_option("--model", options->model, "A GPT-2")->check(CLI::IsMember(sizes));
  command->add_option("--layers", options->layers, "Model file (YAML), see models/, instead of --model")
      ->type_name("PATH")
      ->excludes(model);
  const CLI::Range count(1, 1'000'000'000);  // what a trace's header takes
  command->add_option("--batch", options->batch, "Samples a GPU and step")
      ->check(count)
      ->capture_default_str();
  command->add_option("--sequence", options->sequence, "Tokens a sample")
      ->check(count)
      ->capture_default_str();
  const CLI::IsMember dtype({"float32", "bfloat16", "float16", "fp32", "bf16", "fp16"});
  command->add_option("--dtype", options->compute, "What layers compute in")
      ->check(dtype)
      ->capture_default_str();
  command->add_option("--gradients", options->gradients, "Type of gradients and parameters")
      ->check(dtype)
      ->capture_default_str();
  command->add_option("--gpu", options->gpu, "GPU file (YAML), see gpus/")->type_name("PATH");
  const CLI::Range share(0.001, 1.0);
  command->add_option("--efficiency", options->efficiency, "Share of the peak that matrix products reach")
      ->check(share)
      ->capture_default_str();
  command
      ->add_option("--memory-efficiency", options->memory_efficiency,
                   "Share of the memory bandwidth that is reached (the GPU's copy efficiency)")
      ->check(share);
  command->add_option("--forward", options->forward, "Known time of the forward pass: scales the estimate")
      ->type_name("TIME");
  command->add_option("--backward", options->backward, "Known time of the backward pass")->type_name("TIME");
  command->add_option("--optimizer", options->optimizer, "Known time of the optimizer")->type_name("TIME");
  command->add_option("--out", options->out, "Layer trace to write")->required()->type_name("PATH");
  command->footer(
      "Example:\n  ddpsim trace synthesize --model gpt2-xl --dtype bf16 --gpu gpus/h100-sxm.yaml --out "
      "trace.csv\n  ddpsim trace synthesize --layers models/cs336-xl.yaml --batch 2 --sequence 512 --forward "
      "155ms --backward 296ms --out trace.csv");
  command->callback([options, &run] { run = [options] { synthesize(*options); }; });
}

}  // namespace ddpsim::cli
