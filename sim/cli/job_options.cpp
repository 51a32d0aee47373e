#include "sim/cli/job_options.hpp"

#include <algorithm>
#include <array>
#include <filesystem>
#include <fstream>
#include <optional>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/file_kind.hpp"
#include "sim/cli/preset_options.hpp"
#include "sim/config/overrides.hpp"
#include "sim/resolve/workload_model.hpp"
#include "sim/text/presets.hpp"

namespace ddpsim::cli {
namespace {

namespace fs = std::filesystem;

struct JobWord {
  const char* option;
  const char* also;  // as it is spelled, too; empty: nothing
  const char* key;   // of a scenario
  const char* description;
  std::optional<PresetKind> names = {};
};
const std::array<JobWord, 10> kWords{
    {{"--on", "--topology", "cluster.topology", "Cluster, by name or file", PresetKind::topologies},
     {"--gpus", "", "cluster.world_size", "How many GPUs"},
     {"--batch", "--global-batch", "batch.global", "Samples a step, of all GPUs"},
     {"--sequence", "", "workload.sequence",
      "Tokens a sample (default: the model's own number, if it has one)"},
     {"--micro-batch", "", "workload.micro_batch",
      "Samples that a GPU takes at once (of a model by name: 1)"},
     {"--dtype", "", "workload.dtype", "What is computed in: bf16 (the default), fp16, fp8, ..."},
     {"--framework", "", "workload.framework",
      "Software whose shares of the peak count ('ddpsim list software'; default: by the GPU)",
      PresetKind::software},
     {"--strategy", "", "strategy", "How gradients are reduced or parameters sharded: ddp, fsdp, zero1, ..."},
     {"--tokens", "", "workload.tokens", "Of the whole training, 15T: how many days it takes"},
     {"--price", "", "cluster.price", "Of a GPU and hour: what it costs"}}};

// The first bytes of a regular file.
std::string head_of(const std::string& path) {
  std::error_code unreadable;
  if (!fs::is_regular_file(path, unreadable)) return {};
  std::string head(kKindBytes, '\0');
  std::ifstream file(path, std::ios::binary);
  file.read(head.data(), static_cast<std::streamsize>(head.size()));
  head.resize(static_cast<std::size_t>(file.gcount()));
  return head;
}

// Whether a GPU has room for it; what cannot be resolved is said elsewhere.
bool has_room(config::Value root) {
  for (const auto& axis : config::take_sweep_axes(root))
    if (!axis.values.empty()) config::set_at(root, axis.key, axis.values.front(), root.span);
  try {
    Files files("--set");
    auto scenario = resolve_step(files, root);
    auto held = scenario.is_timed_by_law() ? scenario.memory() : std::nullopt;
    if (!held) return true;
    const auto& gpu = scenario.gpu_of_law();
    return MemoryMetrics{*held, gpu.memory, gpu.name}.fits();
  } catch (const InputError&) {
    return true;
  }
}

// DistributedDataParallel, or where that has no room FSDP, which takes the key. Empty: somebody says it, or
// GPUs share the model.
std::string take_strategy(config::Value& root) {
  const auto* sweep = config::find_at(root, "sweep");
  bool is_swept = sweep && sweep->find("strategy");
  if (says(root, "strategy") || is_swept) return "";
  if (says(root, "parallelism") || has_room(root)) return "strategy ddp";
  config::apply_override(root, "strategy=fsdp", "--strategy");
  return "strategy fsdp, as ddp would not fit";
}

}  // namespace

void JobOptions::add_to(Command& command, std::initializer_list<std::string_view> without) {
  for (const auto& [option, also, key, description, names] : kWords) {
    if (std::ranges::find(without, option) != without.end()) continue;
    Option made{.name = option,
                .value = &given_[option],
                .description = fmt::format("{}: {}", description, key),
                .refuses_empty = true};
    if (*also != '\0') made.also = {also};
    if (names) made.names = names_of(*names);
    command.options.push_back(std::move(made));
  }
}

void JobOptions::apply(config::Value& root, const std::string& model, bool sweeps) const {
  if (!model.empty()) config::apply_override(root, "workload.model=" + model, "MODEL");
  for (const auto& word : kWords) {
    auto given = given_.find(word.option);
    if (given == given_.end() || given->second.empty()) continue;
    const auto& text = given->second;
    bool is_list = word.key != std::string_view("cluster.topology") && !text.starts_with('{') &&
                   text.find(',') != std::string::npos;
    if (is_list && !sweeps)
      throw InputError(fmt::format("{} takes one value here", word.option),
                       fmt::format("several are a sweep's: ddpsim sweep ... {} {}", word.option, text));
    config::apply_override(
        root, is_list ? fmt::format("sweep.{}=[{}]", word.key, text) : fmt::format("{}={}", word.key, text),
        word.option);
  }
}

void JobOptions::check(const std::vector<std::string>& overrides) const {
  for (const auto& word : kWords) {
    auto text = given_.find(word.option);
    if (text == given_.end() || text->second.empty()) continue;
    for (const auto& one : overrides)
      if (one.starts_with(fmt::format("{}=", word.key)) ||
          one.starts_with(fmt::format("sweep.{}=", word.key)))
        throw InputError(
            fmt::format("{} and --set {} exclude each other", word.option, one.substr(0, one.find('='))),
            "leave one of them out");
  }
}

std::vector<std::string> JobOptions::words() const {
  std::vector<std::string> typed;
  for (const auto& word : kWords)
    if (auto text = given_.find(word.option); text != given_.end() && !text->second.empty())
      typed.insert(typed.end(), {word.option, text->second});
  return typed;
}

bool is_model(const std::string& word) {
  if (auto head = head_of(word); !head.empty()) {
    const auto* kind = kind_of(head);
    return kind && std::ranges::count(kind->read_as, "a model") > 0;
  }
  if (find_preset(PresetKind::configs, word)) return false;
  return preset_meant_by(PresetKind::models, word).has_value();
}

bool says(const config::Value& root, const char* key) {
  const auto* value = config::find_at(root, key);
  return value && value->kind != config::Value::Kind::null;
}

namespace {

// By itself, or as an axis.
bool says_or_sweeps(const config::Value& root, const char* key) {
  const auto* sweep = config::find_at(root, "sweep");
  return says(root, key) || (sweep && sweep->find(key));
}

}  // namespace

void require_launched(const config::Value& root, const std::string& file, bool is_sized) {
  bool has_work = says_or_sweeps(root, "workload.model") || says(root, "workload.trace") ||
                  says(root, "workload.recording");
  bool has_cluster = says_or_sweeps(root, "cluster.topology");
  require({{"MODEL", has_work},
           {"--on", has_cluster},
           {"--gpus", is_sized || says_or_sweeps(root, "cluster.world_size")}},
          fmt::format("{} does not say it", file));
}

void require(const std::vector<std::pair<std::string, bool>>& given, const std::string& hint) {
  std::vector<std::string> missing;
  for (const auto& [name, is_given] : given)
    if (!is_given) missing.push_back(name);
  if (missing.empty()) return;
  throw InputError(
      fmt::format("{} {} required", fmt::join(missing, ", "), missing.size() == 1 ? "is" : "are"), hint);
}

std::int64_t take_own_sequence(config::Value& root) {
  Files files("--set");
  auto model = described_model(*config::find_at(root, "workload.model"), files);
  auto own = own_sequence(model);
  if (own > 1) config::apply_override(root, fmt::format("workload.sequence={}", own), "--sequence");
  return own;
}

std::vector<Note> complete_model_job(config::Value& root, bool is_sized, const std::string& hint) {
  std::vector<std::string> usual;
  bool has_sequence = says(root, "workload.sequence");
  if (!has_sequence && says(root, "workload.model")) {
    auto own = take_own_sequence(root);
    has_sequence = own > 0;
    if (own > 1) usual.push_back(fmt::format("a sequence of {}, the model's own", own));
  }
  has_sequence |= says_or_sweeps(root, "workload.sequence");
  require({{"--on", says_or_sweeps(root, "cluster.topology")},
           {"--gpus", is_sized || says_or_sweeps(root, "cluster.world_size")},
           {"--sequence", has_sequence}},
          hint);
  if (!says_or_sweeps(root, "workload.micro_batch")) {
    config::apply_override(root, "workload.micro_batch=1", "--micro-batch");
    usual.insert(usual.begin(), "a micro-batch of 1");
  }
  if (auto strategy = take_strategy(root); !strategy.empty()) usual.push_back(std::move(strategy));
  if (usual.empty()) return {};
  return {{"usual-job", fmt::format("nobody says otherwise: {}", fmt::join(usual, ", "))}};
}

}  // namespace ddpsim::cli
