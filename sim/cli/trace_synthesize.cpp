#include <map>
#include <memory>

#include <fmt/core.h>

#include "sim/base/counted.hpp"
#include "sim/base/limits.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/standard_error.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/notes.hpp"
#include "sim/cli/preset_options.hpp"
#include "sim/cli/scenario_options.hpp"
#include "sim/cli/synthesize_model.hpp"
#include "sim/compute/synthesize.hpp"
#include "sim/resolve/workload_model.hpp"
#include "sim/text/gpu_file.hpp"
#include "sim/text/model_file.hpp"
#include "sim/text/presets.hpp"
#include "sim/trace/trace_file.hpp"

namespace ddpsim::cli {
namespace {

struct SynthesizeOptions {
  std::string out;
  std::optional<std::string> model, layers, gpu, forward, backward, optimizer;
  std::optional<std::string> framework, recompute, attention;  // of --model only
  std::optional<std::string> compute;
  std::string gradients = "float32";
  std::int64_t batch = 4;
  std::optional<std::int64_t> sequence;
  std::optional<double> efficiency, memory_efficiency;  // of --layers only
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

constexpr std::int64_t kUsualSequence = 1024;

// What goes with the other way to name a model.
void check_belongs(const SynthesizeOptions& options) {
  if (!options.model && !options.layers)
    throw InputError("no model is given",
                     "give --model llama-2-7b, or a list of layers: --layers bert-base-qa");
  auto refuse = [](bool is_given, const char* option, const char* belongs, const char* hint) {
    if (is_given) throw InputError(fmt::format("{} goes with {}", option, belongs), hint);
  };
  if (options.model) {
    const char* hint = "a transformer's shares of the GPU's figures are those of its --framework";
    refuse(options.efficiency.has_value(), "--efficiency", "--layers", hint);
    refuse(options.memory_efficiency.has_value(), "--memory-efficiency", "--layers", hint);
    return;
  }
  const char* hint = "a list of layers says nothing that it could change";
  refuse(options.framework.has_value(), "--framework", "--model", hint);
  refuse(options.recompute.has_value(), "--recompute", "--model", hint);
  refuse(options.attention.has_value(), "--attention", "--model", hint);
  bool is_known = !options.compute || dtypes().contains(*options.compute);
  refuse(!is_known, "--dtype of tf32 or fp8", "--model",
         "a list of layers is computed in fp32, fp16 or bf16");
}

SynthesisOptions synthesis_options(const SynthesizeOptions& options, const Model& model) {
  SynthesisOptions synthesis;
  synthesis.batch = {options.batch,
                     options.sequence.value_or(model.sequence > 0 ? model.sequence : kUsualSequence)};
  synthesis.compute = dtypes().at(options.compute.value_or("float32"));
  synthesis.gradients = dtypes().at(options.gradients);
  synthesis.efficiency = options.efficiency.value_or(kUsualEfficiency);
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

ModelOptions model_options(const SynthesizeOptions& options) {
  return {.model = *options.model,
          .micro_batch = options.batch,
          .sequence = options.sequence,
          .dtype = options.compute,
          .gradients = options.gradients,
          .framework = options.framework,
          .recompute = options.recompute,
          .attention = options.attention,
          .gpu = options.gpu,
          .forward = parse_time("--forward", options.forward),
          .backward = parse_time("--backward", options.backward),
          .optimizer = parse_time("--optimizer", options.optimizer)};
}

// The command that makes the same trace again, with every default of a list of layers.
std::string command_line(const SynthesizeOptions& options, const LayerTrace& trace) {
  std::string line = "ddpsim trace synthesize";
  auto add = [&line](const char* option, const auto& value) { line += fmt::format(" {} {}", option, value); };
  auto add_given = [&](const char* option, const auto& value) {
    if (value) add(option, *value);
  };
  add_given("--model", options.model);
  add_given("--layers", options.layers);
  add("--batch", options.batch);
  add("--sequence", *trace.metadata.sequence_length);
  if (options.model) {
    add_given("--dtype", options.compute);
    add("--gradients", options.gradients);
    auto gpu =
        options.gpu ? read_gpu(preset_path(PresetKind::gpus, "--gpu", *options.gpu)) : GpuDescription();
    add("--framework", options.framework.value_or(std::string(usual_framework(gpu))));
    add_given("--recompute", options.recompute);
    add_given("--attention", options.attention);
    add_given("--gpu", options.gpu);
  } else {
    add("--dtype", dtype_name(dtypes().at(options.compute.value_or("float32"))));
    add("--gradients", dtype_name(dtypes().at(options.gradients)));
    add_given("--gpu", options.gpu);
    if (options.gpu) add("--efficiency", options.efficiency.value_or(kUsualEfficiency));
  }
  add_given("--memory-efficiency", options.memory_efficiency);
  add_given("--forward", options.forward);
  add_given("--backward", options.backward);
  add_given("--optimizer", options.optimizer);
  return line;
}

void synthesize(const SynthesizeOptions& options) {
  check_outputs({{"--out", options.out}});
  check_belongs(options);
  LayerTrace trace;
  if (options.model) {
    auto made = synthesize_model(model_options(options));
    print_notes(made.notes);
    trace = std::move(made.trace);
  } else {
    auto model = read_model(preset_path(PresetKind::models, "--layers", *options.layers));
    trace = ddpsim::synthesize(model, synthesis_options(options, model));
  }
  trace.metadata.source = command_line(options, trace);
  auto text = write_trace(trace);
  OutputPhase writing;
  write_output(options.out, text);
  print_stderr("wrote {} to {}: estimated, forward {}, backward {}{}\n",
               counted(trace.gradients.size(), "gradient"), options.out, format_seconds(*trace.forward),
               format_seconds(trace.backward()),
               trace.optimizer ? ", optimizer " + format_seconds(*trace.optimizer) : "");
}

}  // namespace

Command trace_synthesize_command() {
  auto options = std::make_shared<SynthesizeOptions>();
  const std::pair<double, double> count{1, kLargestBatch};  // what a trace's header takes
  const std::pair<double, double> share{0.001, 1.0};
  const std::vector<std::string> types{"float32", "bfloat16", "float16", "fp32", "bf16", "fp16"};
  auto computed = types;
  computed.insert(computed.end(), {"tf32", "fp8"});
  return {
      .name = "synthesize",
      .description = "Estimate a layer trace of a model that nobody recorded",
      .example =
          "  ddpsim trace synthesize --model llama-2-7b --batch 1 --sequence 4096 --gpu h100-sxm --out "
          "trace.csv\n"
          "  ddpsim trace synthesize --layers cs336-xl --batch 2 --sequence 512 --forward 155ms "
          "--backward 296ms --out trace.csv",
      .options =
          {{.name = "--model",
            .value = &options->model,
            .description = "A transformer: a name ('ddpsim list models'), a file (YAML) or a config.json",
            .type = "PATH",
            .names = names_of(PresetKind::models)},
           {.name = "--layers",
            .value = &options->layers,
            .description =
                "Model as a list of layers, instead of --model: a name (bert-base-qa) or a file (YAML)",
            .type = "PATH",
            .names = names_of(PresetKind::models),
            .excludes = {"--model"}},
           {.name = "--batch,--micro-batch",
            .value = &options->batch,
            .description = "Samples a GPU and step",
            .shows_default = true,
            .range = count},
           {.name = "--sequence",
            .value = &options->sequence,
            .description =
                "Tokens a sample (default: a model's learned positions, a list of layers' own or 1024)",
            .range = count},
           {.name = "--dtype",
            .value = &options->compute,
            .description = "What layers compute in (default: bf16 of a model where the GPU has it, else "
                           "fp16; fp32 of a list of layers)",
            .words = computed},
           {.name = "--gradients",
            .value = &options->gradients,
            .description = "Type of gradients and parameters",
            .shows_default = true,
            .words = types},
           {.name = "--gpu",
            .value = &options->gpu,
            .description = "GPU: a name ('ddpsim list gpus') or a file (YAML)",
            .type = "PATH",
            .names = names_of(PresetKind::gpus)},
           {.name = "--framework",
            .value = &options->framework,
            .description = "Of --model: the software whose shares of the peak count, a name ('ddpsim list "
                           "software') or a file (default: fsdp-eager-2023)",
            .type = "PATH",
            .names = names_of(PresetKind::software)},
           {.name = "--recompute",
            .value = &options->recompute,
            .description = "Of --model: what backward computes again",
            .words = {"none", "selective", "op", "full"}},
           {.name = "--attention",
            .value = &options->attention,
            .description = "Of --model: the kernel, instead of the framework's",
            .words = {"flash", "unfused"}},
           {.name = "--efficiency",
            .value = &options->efficiency,
            .description = "Of --layers: share of the peak that matrix products reach (0.5)",
            .range = share},
           {.name = "--memory-efficiency",
            .value = &options->memory_efficiency,
            .description = "Of --layers: share of the memory bandwidth that is reached (the GPU's copy "
                           "efficiency)",
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
