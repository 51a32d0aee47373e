// `ddpsim init`: a scenario to start from.
#include <filesystem>
#include <iostream>
#include <memory>

#include <fmt/core.h>
#include <fmt/ranges.h>
#include <unistd.h>

#include "sim/base/limits.hpp"
#include "sim/base/output_file.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/standard_error.hpp"
#include "sim/cli/commands.hpp"
#include "sim/cli/preset_options.hpp"
#include "sim/cli/scenario_options.hpp"
#include "sim/config/sweep_axes.hpp"
#include "sim/resolve/resolve.hpp"
#include "sim/resolve/workload_model.hpp"
#include "sim/study/plan.hpp"
#include "sim/text/presets.hpp"
#include "sim/text/topology_file.hpp"

namespace ddpsim::cli {
namespace {

namespace fs = std::filesystem;

struct InitOptions {
  std::string model, topology, gpu, out = "-";
  std::optional<int> gpus;
  std::optional<std::int64_t> sequence;
  std::int64_t micro_batch = 1;
  std::string strategy;
};

constexpr std::string_view kWhole =
    "ddpsim init --model llama-2-7b --on superpod-h100 --gpus 128 --out my-job.yaml";

// Asks at a terminal for what no option says; `why` closes the message that there is none.
std::string asked(const char* option, const char* question, const std::string& why = {},
                  std::string_view hint = kWhole) {
  if (isatty(STDIN_FILENO) == 0)
    throw InputError(fmt::format("{} is missing{}, and there is no terminal to ask at", option, why),
                     std::string(hint));
  print_stderr("{} ", question);
  std::string answer;
  if (!std::getline(std::cin, answer) || answer.empty())
    throw InputError(fmt::format("no answer for {}", option), "nothing was written");
  return answer;
}

constexpr std::pair kWorldSizes{1.0, static_cast<double>(kLargestWorldSize)};

int asked_gpus() {
  auto answer = asked("--gpus", "On how many GPUs?");
  Located text{answer, whole_file(make_source("--gpus", answer))};
  return static_cast<int>(parse_integer(text, 1, kLargestWorldSize));
}

// Empty: the topology names one.
std::string gpu_of(const InitOptions& options, const std::string& topology_path) {
  if (!options.gpu.empty() || read_topology(topology_path)->gpu) return options.gpu;
  return asked("--gpu", "Which GPU ('ddpsim list gpus', or a file)?",
               fmt::format(": topology {} names no GPU", options.topology),
               "add --gpu h100-sxm; 'ddpsim list gpus' lists them");
}

constexpr std::int64_t kUsualSequence = 4096;

// None: a sample of the model has no tokens, and a scenario needs no number of them.
std::optional<std::int64_t> sequence_of(const InitOptions& options, const AnyModel& model) {
  if (options.sequence) return options.sequence;
  if (model.layers && model.layers->sequence == 1) return std::nullopt;
  return own_sequence(model) > 0 ? own_sequence(model) : kUsualSequence;
}

// As the file that is written has to name it.
std::string seen_from(const std::string& out, const std::string& name, const std::string& path) {
  if (path.empty() || name.find_first_of("/.") == std::string::npos) return name;
  return out == "-" ? path : fs::proximate(fs::absolute(path), fs::absolute(out).parent_path()).string();
}

struct Choice {
  std::string strategy, recompute, why;
};
std::string strategies_text(bool (*is)(const StrategyTraits&)) {
  return fmt::format("{}", fmt::join(strategies_that(is), ", "));
}
bool is_usual(const StrategyTraits& one) {
  return one.is_usual;
}
bool shards(const StrategyTraits& one) {
  return one.is_usual && one.is_sharded;
}
// Of those whose ranks hold parts of the weights.
bool also_shards_weights(const StrategyTraits& one) {
  return one.is_usual && one.shards_weights && one.name != "fsdp";
}

// Best first, as far as memory lets it; of a list of layers nobody knows what it holds.
std::vector<Choice> choices_of(const InitOptions& options, const AnyModel& model) {
  if (!options.strategy.empty()) return {{options.strategy, "none", strategies_text(is_usual)}};
  Choice plain{"ddp", "none", fmt::format("or {}, which shard", strategies_text(shards))};
  if (!model.transformer) return {plain};
  auto why =
      fmt::format("ddp would not fit into a GPU's memory; or {}", strategies_text(also_shards_weights));
  return {plain, {"fsdp", "none", why}, {"fsdp", "full", why}};
}

// What is asked for, as the scenario has it.
struct Job {
  std::string model, topology, gpu;  // no gpu: the topology's
  std::optional<std::int64_t> sequence;
  std::int64_t micro_batch;
  int gpus;
  bool has_sizes;  // a transformer's

  [[nodiscard]] std::string text(const Choice& choice) const {
    std::string tokens, recompute, computes_on;
    if (sequence) tokens = fmt::format("  sequence: {}   # tokens a sample\n", *sequence);
    if (!gpu.empty()) computes_on = fmt::format("  gpu: {}   # ddpsim list gpus\n", gpu);
    if (has_sizes)
      recompute = fmt::format(
          "  recompute: {}   # what backward computes again to save memory: none, selective, full\n",
          choice.recompute);
    return fmt::format(
        R"(# Made by 'ddpsim init'. Next: ddpsim simulate FILE, ddpsim sweep FILE, ddpsim memory FILE, ddpsim scale FILE --gpus 8:4096
workload:
  model: {}   # ddpsim list models; or a file of sizes, or a config.json of Hugging Face
  micro_batch: {}   # samples that a GPU computes at once
{}{}  # framework: fsdp-eager-2023   # ddpsim list software: whose share of the GPU's peak is reached
cluster:
  topology: {}   # ddpsim list topologies
{}  world_size: {}   # GPUs
strategy: {}   # {}
# batch: {{global: {}}}   # samples a step, of all GPUs; each accumulates what is more than its micro-batch
sweep:   # ddpsim sweep simulates each
  {}
)",
        model, micro_batch, tokens, recompute, topology, computes_on, gpus, choice.strategy, choice.why,
        4 * micro_batch * gpus,
        choice.strategy == "ddp" ? "ddp.bucket_cap: [1MiB, 5MiB, 25MiB, 100MiB, 400MiB]"
                                 : fmt::format("strategy: [{}]", strategies_text(shards)));
  }
};

Job job_of(InitOptions& options, AnyModel& model) {
  if (options.model.empty())
    options.model = asked("--model", "Which model ('ddpsim list models', or a file)?");
  if (options.topology.empty())
    options.topology = asked("--on", "On which cluster ('ddpsim list topologies', or a file)?");
  if (!options.gpus) options.gpus = asked_gpus();
  auto model_path = model_of_option("--model", options.model).path;
  auto topology_path = preset_path(PresetKind::topologies, "--on", options.topology);
  model = any_model_of("--model", options.model);
  auto gpu = gpu_of(options, topology_path);
  auto gpu_path = gpu.empty() ? std::string() : preset_path(PresetKind::gpus, "--gpu", gpu);
  return {.model = seen_from(options.out, options.model, model_path),
          .topology = seen_from(options.out, options.topology, topology_path),
          .gpu = seen_from(options.out, gpu, gpu_path),
          .sequence = sequence_of(options, model),
          .micro_batch = options.micro_batch,
          .gpus = *options.gpus,
          .has_sizes = model.transformer.has_value()};
}

Scenario read_text(const std::string& text, const std::string& out) {
  auto name = out == "-" ? "--set" : out;
  auto root = config::parse_yaml({make_source(name, text), text}, "a scenario");
  config::take_sweep_axes(root);
  return resolve(Files(name), root);
}

void init(InitOptions options) {
  check_outputs({{"--out", options.out}});
  std::error_code unreadable;
  if (options.out != "-" && fs::exists(options.out, unreadable))
    throw InputError(fmt::format("--out {} is there already", options.out),
                     "give it another name, or remove it");
  AnyModel model;
  auto job = job_of(options, model);
  std::string text;
  std::optional<MemoryMetrics> memory;
  for (const auto& choice : choices_of(options, model)) {
    text = job.text(choice);
    auto scenario = read_text(text, options.out);
    memory.reset();
    if (auto parts = scenario.memory())
      memory = {*parts, scenario.model_step->gpu.memory, scenario.model_step->gpu.name};
    if (!memory || memory->fits()) break;
  }
  OutputPhase writing;
  write_output(options.out, text);
  if (memory && !memory->fits())
    print_stderr("note: {:.1f} GB on a GPU of {:.1f} GB: 'ddpsim plan' shares the model itself over GPUs\n",
                 memory->parts.peak().value() / 1e9, memory->capacity.value() / 1e9);
  if (options.out != "-") print_stderr("wrote {0}: ddpsim simulate {0}\n", options.out);
}

}  // namespace

Command init_command() {
  auto options = std::make_shared<InitOptions>();
  return {.name = "init",
          .description = "Write a scenario to start from; asks at a terminal for what no option says",
          .example = "  ddpsim init --model llama-2-7b --topology superpod-h100 --gpus 128",
          .options = {{.name = "--model",
                       .value = &options->model,
                       .description = "A model by name, or its file",
                       .names = names_of(PresetKind::models)},
                      {.name = "--on",
                       .also = {"--topology"},
                       .value = &options->topology,
                       .description = "Cluster, by name or file",
                       .names = names_of(PresetKind::topologies)},
                      {.name = "--gpu",
                       .value = &options->gpu,
                       .description = "GPU, by name or file (default: the one that the topology names)",
                       .names = names_of(PresetKind::gpus)},
                      {.name = "--gpus",
                       .value = &options->gpus,
                       .description = "How many GPUs",
                       .range = kWorldSizes},
                      {.name = "--micro-batch",
                       .value = &options->micro_batch,
                       .description = "Samples a GPU computes at once",
                       .shows_default = true,
                       .range = std::pair(1.0, 1e6)},
                      {.name = "--sequence",
                       .value = &options->sequence,
                       .description = "Tokens a sample (default: the model's own number, else 4096)",
                       .range = std::pair(1.0, 1e9)},
                      {.name = "--strategy",
                       .value = &options->strategy,
                       .description = "Which (default: ddp where it fits into a GPU's memory, else fsdp)",
                       .words = usual_plan_space().strategies},
                      output_option("--out", &options->out,
                                    "Where it goes; '-', the default, is standard output", "PATH|-")},
          .run = [options] { init(*options); }};
}

}  // namespace ddpsim::cli
