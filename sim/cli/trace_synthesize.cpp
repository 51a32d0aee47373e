#include <filesystem>
#include <map>
#include <memory>

#include <fmt/core.h>

#include "sim/base/limits.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/standard_error.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/preset_option.hpp"
#include "sim/cli/scenario_options.hpp"
#include "sim/compute/gpt2_model.hpp"
#include "sim/compute/synthesize.hpp"
#include "sim/text/gpu_file.hpp"
#include "sim/text/model_file.hpp"
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
  if (options.layers) return read_model(preset_path(PresetKind::models, "--layers", *options.layers));
  if (!options.model)
    throw InputError("no model is given", "give --model gpt2, or a list of layers: --layers bert-base-qa");
  const auto& gpt2 = transformer_named(*options.model);
  if (options.sequence > gpt2.positions)
    throw InputError(
        fmt::format("--sequence: GPT-2 has {} positions, not {}", gpt2.positions, options.sequence),
        "a model file (--layers) has any number");
  return gpt2_model(gpt2, options.sequence);
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
    synthesis.gpu = read_gpu(preset_path(PresetKind::gpus, "--gpu", *options.gpu));
  else if (!synthesis.forward || !synthesis.backward)
    throw InputError("neither a GPU nor the times of both passes are given",
                     "give --gpu h100-sxm, or --forward and --backward, or all three");
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

Command trace_synthesize_command() {
  auto options = std::make_shared<SynthesizeOptions>();
  std::vector<std::string> models;
  for (const auto& model : gpt2_presets()) models.push_back(model.name);
  const std::pair<double, double> count{1, kLargestBatch};  // what a trace's header takes
  const std::pair<double, double> share{0.001, 1.0};
  const std::vector<std::string> types{"float32", "bfloat16", "float16", "fp32", "bf16", "fp16"};
  return {.name = "synthesize",
          .description = "Estimate a layer trace of a model that nobody recorded",
          .example =
              "  ddpsim trace synthesize --model gpt2-xl --dtype bf16 --gpu h100-sxm --out trace.csv\n"
              "  ddpsim trace synthesize --layers cs336-xl --batch 2 --sequence 512 --forward 155ms "
              "--backward 296ms --out trace.csv",
          .options =
              {{.name = "--model", .value = &options->model, .description = "A GPT-2", .words = models},
               {.name = "--layers",
                .value = &options->layers,
                .description =
                    "Model as a list of layers, instead of --model: a name (bert-base-qa) or a file (YAML)",
                .type = "PATH",
                .excludes = {"--model"}},
               {.name = "--batch",
                .value = &options->batch,
                .description = "Samples a GPU and step",
                .shows_default = true,
                .range = count},
               {.name = "--sequence",
                .value = &options->sequence,
                .description = "Tokens a sample",
                .shows_default = true,
                .range = count},
               {.name = "--dtype",
                .value = &options->compute,
                .description = "What layers compute in",
                .shows_default = true,
                .words = types},
               {.name = "--gradients",
                .value = &options->gradients,
                .description = "Type of gradients and parameters",
                .shows_default = true,
                .words = types},
               {.name = "--gpu",
                .value = &options->gpu,
                .description = "GPU: a name ('ddpsim list gpus') or a file (YAML)",
                .type = "PATH"},
               {.name = "--efficiency",
                .value = &options->efficiency,
                .description = "Share of the peak that matrix products reach",
                .shows_default = true,
                .range = share},
               {.name = "--memory-efficiency",
                .value = &options->memory_efficiency,
                .description = "Share of the memory bandwidth that is reached (the GPU's copy efficiency)",
                .range = share},
               {.name = "--forward",
                .value = &options->forward,
                .description = "Known time of the forward pass: scales the estimate",
                .type = "TIME"},
               {.name = "--backward",
                .value = &options->backward,
                .description = "Known time of the backward pass",
                .type = "TIME"},
               {.name = "--optimizer",
                .value = &options->optimizer,
                .description = "Known time of the optimizer",
                .type = "TIME"},
               {.name = "--out",
                .value = &options->out,
                .description = "Layer trace to write",
                .type = "PATH",
                .is_required = true}},
          .run = [options] { synthesize(*options); }};
}

}  // namespace ddpsim::cli
