#include "sim/text/scenario_reader.hpp"

#include <filesystem>

#include <fmt/core.h>

#include "sim/base/doing.hpp"
#include "sim/base/file_stamps.hpp"
#include "sim/base/limits.hpp"
#include "sim/config/reader.hpp"
#include "sim/engine/scaled_all_reduces.hpp"
#include "sim/text/cluster_mesh.hpp"
#include "sim/text/cluster_section.hpp"
#include "sim/text/doubts.hpp"
#include "sim/text/misplaced_keys.hpp"
#include "sim/text/parallel_section.hpp"
#include "sim/text/plausibility.hpp"
#include "sim/text/sections.hpp"

namespace ddpsim {
namespace {

using config::as_string;
using config::as_word;
using config::MapReader;
using config::Value;
using config::words_of;

struct Engine {
  const Value* value = nullptr;      // the fidelity's
  std::optional<Fidelity> fidelity;  // none: auto
  SharedNetwork network = SharedNetwork::builtin;
};

Engine read_engine(const Value* engine) {
  if (!engine) return {};
  MapReader reader(*engine, "engine");
  const Value* value = reader.find("fidelity");
  auto network = reader.optional("network", as_word(words_of(kSharedNetworkNames)));
  reader.finish();
  auto words = words_of<std::optional<Fidelity>>(kFidelityNames, {{"auto", std::nullopt}});
  return {value, value ? as_word(words)(*value) : std::nullopt, network.value_or(SharedNetwork::builtin)};
}

// `auto`: the closed form wherever nobody shares a link, where simulation adds nothing (it gives the same to
// 3e-15); elsewhere the cheapest simulation that knows contention, lazy.
void choose_fidelity(const Engine& engine, Scenario& scenario) {
  const auto& [value, wanted, network] = engine;
  scenario.network = network;
  if (scenario.measured_table && wanted && *wanted != Fidelity::closed_form)
    throw InputError(value->span,
                     fmt::format("a measured cost has no links for '{}' to simulate", value->scalar),
                     "use fidelity: closed_form or auto, or algorithm: ring");
  if (scenario.communication && scenario.communication->gloo && wanted && *wanted != Fidelity::closed_form)
    throw InputError(
        value->span,
        fmt::format("Gloo's copies and its ring on hosts have no links for '{}' to simulate", value->scalar),
        "use fidelity: closed_form or auto, or algorithm: ring");
  if (scenario.is_asynchronous() && wanted.value_or(Fidelity::closed_form) != Fidelity::closed_form)
    throw InputError(value->span, "asynchronous workers are in a steady state, which is no simulation's",
                     "use fidelity: auto");
  bool is_alone = scenario.communication && scenario.communication->is_alone();
  if (scenario.is_asynchronous() || is_alone) {
    scenario.fidelity = Fidelity::closed_form;
    return;
  }
  bool is_settled = scenario.measured_table || scenario.communication->is_settled();
  bool is_contended = !is_settled && scenario.communication->folded->is_contended();
  scenario.fidelity = wanted.value_or(is_contended ? Fidelity::lazy : Fidelity::closed_form);
  if (is_contended && scenario.fidelity == Fidelity::closed_form)
    throw InputError(value->span, "the closed form knows no contention, and here several share a link",
                     "use fidelity: auto");
}

SourceSpan shard_group_place(const Value& root, const Value* fsdp) {
  if (const auto* entry = fsdp ? fsdp->find("shard_group") : nullptr) return entry->value.span;
  const auto* strategy = root.find("strategy");
  return strategy ? strategy->value.span : root.span;
}

// Where no GPU is known, what nothing else says either.
LeftOut left_out_of(const Scenario& scenario, const Value* physics) {
  bool is_asked_for = physics && physics->kind == Value::Kind::scalar;  // none
  if (scenario.gpu || is_asked_for || scenario.world_size == 1) return {};
  auto says = [physics](const char* key) { return physics && physics->find(key); };
  const auto& spread = scenario.physics.spread;
  bool is_drawn = scenario.sampled && scenario.sampled->variability.draws_ranks();
  return {!says("interference") && !says("calibration"), !says("pass_bandwidth") && !says("passes"),
          spread.ranks == 0 && spread.nodes == 0 && !is_drawn};
}

// What a scenario names must be there; why another file cannot be read, its reader says.
std::string existing(std::string path, const Value& named) {
  std::error_code unknown;
  if (std::filesystem::status(path, unknown).type() != std::filesystem::file_type::not_found) return path;
  throw InputError(named.span, fmt::format("there is no file '{}'", path),
                   named.span.is_typed() ? "check the path; it is relative to the current folder"
                                         : "check the path; it is relative to the scenario's folder");
}

void scale_table(const ScaleSection& scale, Scenario& scenario) {
  if (!scale.is_set()) return;
  if (!scenario.measured_table->grows())
    throw InputError(scale.place,
                     "the table's times fall with size, so that nothing says what of them is latency",
                     "use a table whose times grow, or remove 'scale'");
  scale_all_reduces(scenario, scale.of_times());
}

}  // namespace

// About a kilobyte a GPU of each group, and a hundred of a model. What one scenario of GPUs that share a
// model needs is four communications.
bool ScenarioReader::keeps_much() const {
  constexpr std::size_t kOfOne = 4, kMostGpus = 200'000, kMostModels = 1000;
  std::size_t communications = 0, gpus = 0;
  auto add = [&](const std::shared_ptr<const Communication>& one) {
    ++communications;
    if (one)
      for (const auto& group : one->groups) gpus += group.size();
  };
  for (const auto& [key, traffic] : clusters_) add(traffic.communication);
  for (const auto& [key, within] : groups_within_passes_) add(within.first);
  for (const auto& [key, channels] : channels_of_models_) add(channels.first);
  auto models = models_.size() + rescaled_traces_.size() + scaled_traces_.size() + sampled_.size();
  return (communications > kOfOne && gpus > kMostGpus) || models > kMostModels;
}

std::string ScenarioReader::full_path(const Value& path) const {
  namespace fs = std::filesystem;
  fs::path given(as_string(path));
  bool as_it_is = given.is_absolute() || path.span.is_typed();
  auto resolved = as_it_is ? given : (fs::path(path_).parent_path() / given).lexically_normal();
  return resolved.string();
}

std::string ScenarioReader::resolve(const Value& path) const {
  return existing(full_path(path), path);
}

std::string ScenarioReader::resolve(PresetKind kind, const Value& name_or_path) const {
  bool from_command_line = name_or_path.span.is_typed();
  auto [known, is_new] = paths_.try_emplace({kind, as_string(name_or_path), from_command_line});
  if (!is_new && !known->second.empty()) return known->second;
  // A file beside the scenario comes before a preset of that name.
  auto path = full_path(name_or_path);
  stamp_file(path);
  std::error_code unreadable;
  if (!std::filesystem::is_regular_file(path, unreadable))
    path = preset_file(kind, name_or_path).value_or(path);
  return known->second = existing(path, name_or_path);
}

auto ScenarioReader::sections(std::initializer_list<const Value*> read) -> Sections {
  Sections all;
  for (const auto* section : read) all.push_back(section ? *section : Value());
  return all;
}

// Without a network only the nodes' sizes count.
void ScenarioReader::settle_shard_group(const Value& root, const Value& cluster, int world_size,
                                        FsdpOptions& options) {
  const auto* fsdp = root.find("fsdp");
  const auto* topology = cluster.find("topology");
  try {
    if (!options.shard_group && topology) {
      ClusterSection section(cluster);
      auto described = find_topology(topology->value);
      auto built = build_cluster(*described, section, links_, gpus_of(*described, section));
      auto gpus = place_job(section, *described, *built);
      options.shard_group = shard_group_ranks(std::nullopt, *built, gpus);
    }
    if (!options.shard_group)
      throw InputError("without a topology nothing says which ranks a node holds",
                       "add cluster.topology, or write fsdp: {shard_group: RANKS}");
    check_shard_group(*options.shard_group, world_size);
  } catch (const InputError& error) {
    throw error.at(shard_group_place(root, fsdp ? &fsdp->value : nullptr));
  }
}

Scenario ScenarioReader::read_step(const Value& root) {
  Scenario scenario;
  MapReader reader(root, "scenario");
  for (const char* key : {"workload", "cluster", "collective", "strategy", "ddp", "engine", "physics",
                          "spread", "variability", "validation", "host", "failures"})
    reader.find(key);
  for (const char* key : kStrategySections) reader.find(key);
  for (const char* key : kParallelSections) reader.find(key);
  reader.finish();
  auto section = [&root](const char* key) -> const Value& {
    if (const auto* entry = root.find(key)) return entry->value;
    throw InputError(root.span, fmt::format("'scenario' lacks the key '{}'", key));
  };
  const Value& cluster = section("cluster");
  const auto* ddp = root.find("ddp");
  const auto* strategy = root.find("strategy");
  scenario.ddp = read_ddp_section(ddp ? &ddp->value : nullptr);
  auto kind = strategy ? as_word(words_of(kStrategyNames))(strategy->value) : Strategy::ddp;
  scenario.plan.strategy = kind;
  read_workload(section("workload"), find_gpu(cluster), scenario, scenario.ddp);
  const auto* world_size = cluster.find("world_size");
  scenario.world_size =
      world_size ? static_cast<int>(config::as_integer(1, kLargestWorldSize)(world_size->value)) : 1;
  const auto* groups = cluster.find("groups");
  for (const auto& group : read_groups(groups ? &groups->value : nullptr, scenario.world_size))
    scenario.groups.push_back({static_cast<int>(group.ranks.size()), {}, {}});
  auto parallel = read_parallel_section(root);
  for (auto& note : unused_axes(parallel)) scenario.notes.push_back(std::move(note));
  settle_batch(parallel, cluster, ddp ? &ddp->value : nullptr, scenario, scenario.ddp);
  if (parallel.splits_model()) {
    auto degrees = degrees_of(parallel, scenario.world_size);
    auto shared = shared_options(root, parallel, degrees, scenario.ddp, scenario);
    scenario.parallel = shared_step(root, parallel, shared, {}, {}, {}, scenario);
    scenario.plan.accumulation_steps = scenario.ddp.accumulation_steps;
    scenario.groups = {{degrees.data, {}, {}}};
    return scenario;
  }
  const auto* fsdp = root.find("fsdp");
  auto options = read_fsdp(fsdp ? &fsdp->value : nullptr, kind, scenario);
  if (shards_within_groups(kind)) settle_shard_group(root, cluster, scenario.world_size, options);
  settle_host(root, cluster, scenario);
  read_strategy(root, kind, options, DdpOptions(scenario.ddp), scenario);
  return scenario;
}

Scenario ScenarioReader::read(const Value& root) {
  Doing doing("reading the scenario");
  check_misplaced_keys(root);
  MapReader reader(root, "scenario");
  const Value& workload = reader.require("workload");
  const Value& cluster = reader.require("cluster");
  const Value* collective = reader.find("collective");
  auto strategy = reader.optional("strategy", as_word(words_of(kStrategyNames))).value_or(Strategy::ddp);
  const Value* ddp = reader.find("ddp");
  const Value* fsdp = reader.find("fsdp");
  for (const char* key : kStrategySections) reader.find(key);
  for (const char* key : kParallelSections) reader.find(key);
  reader.find("host");
  auto fidelity = read_engine(reader.find("engine"));
  const Value* physics = reader.find("physics");
  const Value* spread = reader.find("spread");
  const Value* variability = reader.find("variability");
  const Value* validation = reader.find("validation");
  const Value* failures = reader.find("failures");
  reader.finish();

  Scenario scenario;
  DdpOptions options = read_ddp_section(ddp);
  auto gpu = find_gpu(cluster);
  scenario.plan.strategy = strategy;
  read_workload(workload, gpu, scenario, options);
  const auto* stragglers = workload.find("stragglers");
  const Value* slower = stragglers ? &stragglers->value : nullptr;
  auto collectives = read_collective(collective);
  auto parallel = read_parallel_section(root);
  for (auto& note : unused_axes(parallel)) scenario.notes.push_back(std::move(note));
  settle_batch(parallel, cluster, ddp, scenario, options);
  std::shared_ptr<const RankPlaces> places;
  if (parallel.splits_model()) {
    places = read_shared_model(root, collectives, parallel, options, fidelity.fidelity, scenario);
  } else {
    auto sharding = read_fsdp(fsdp, strategy, scenario);
    if (strategy == Strategy::ddp && options.process_groups > 1)
      check_process_groups(root, collectives.backend, collectives.table != nullptr);
    collectives.communicators = communicators_of(strategy, sharding, options.process_groups);
    collectives.shard_group = {sharding.shard_group, shard_group_place(root, fsdp)};
    if (strategy == Strategy::parameter_server) use_servers(root, collectives);
    places = read_cluster(cluster, collectives, slower, fidelity.fidelity, scenario);
    settle_host(root, cluster, scenario);
    read_strategy(root, strategy, sharding, options, scenario);
    if (scenario.measured_table) scale_table(collectives.scale, scenario);
    if (scenario.trace->registration_guessed && depends_on_registration(strategy, options))
      scenario.notes.push_back(registration_guessed_note());
  }
  PathResolver resolve_path = [this](const Value& path) { return resolve(path); };
  scenario.physics = read_physics_section({physics, spread}, gpu.get(), scenario.plan, options, resolve_path);
  if (auto note = pass_bandwidth_note(scenario.physics.overheads.pass_bandwidth, gpu.get()))
    scenario.notes.push_back(std::move(*note));
  if (auto note = host_time_note(strategy)) scenario.notes.push_back(std::move(*note));
  if (auto note = copies_note(scenario)) scenario.notes.push_back(std::move(*note));
  if (scenario.communication && scenario.communication->is_alone())
    scenario.physics.overheads.first_start = {};
  if (!scenario.parallel) check_ddp_extras(root, collectives.backend, scenario);
  if (scenario.is_asynchronous()) {
    // No worker waits for the slowest.
    scenario.physics.spread = {};
    if (auto& range = scenario.physics.range) range->least.spread = range->most.spread = {};
  }
  if (const auto& overheads = scenario.physics.overheads;
      scenario.strategy_plan && (overheads.launch > Seconds() || overheads.gradient > Seconds()))
    scenario.notes.push_back(
        {"physics-unused", "a sharded strategy does not use physics.launch and physics.gradient"});
  if (scenario.strategy_plan && cluster.find("background"))
    scenario.notes.push_back(
        {"background-offset",
         "background traffic counts from when the backward pass would start if no gather were "
         "waited for: under a sharded strategy that is earlier than it starts"});
  if (failures) scenario.failures = read_failures_section(*failures);
  if (gpu) {
    scenario.gpu = gpu->name;
    if (const auto* topology = cluster.find("topology"))
      for (auto& note : architecture_notes(*gpu, *find_topology(topology->value)))
        scenario.notes.push_back(std::move(note));
  }
  std::ranges::move(model_doubts(scenario), std::back_inserter(scenario.doubts));
  if (auto note = software_scope_note(scenario)) scenario.notes.push_back(std::move(*note));
  if (scenario.physics.spread.nodes > 0 && !places->knows_nodes)
    throw InputError(spread->span, "without a topology nothing says which ranks a node holds",
                     "add cluster.topology, or leave spread.nodes out");
  choose_fidelity(fidelity, scenario);
  if (variability && scenario.is_asynchronous())
    throw InputError(variability->span, "iterations of asynchronous workers are not drawn",
                     "remove 'variability', or write parameter_server: {synchronous: true}");
  if (variability) read_variability(*variability, cluster, slower, spread, *places, scenario);
  settle_broadcasts(scenario);
  if (const auto* topology = cluster.find("topology"))
    for (auto& note : weather_notes(*find_topology(topology->value), scenario,
                                    variability && variability->find("weather")))
      scenario.notes.push_back(std::move(note));
  if (auto note = textbook_note(left_out_of(scenario, physics))) scenario.notes.push_back(std::move(*note));
  if (scenario.measured_table)
    for (auto& note : table_notes(*scenario.measured_table)) scenario.notes.push_back(std::move(note));
  scenario.validation = read_validation_section(validation, resolve_path);
  return scenario;
}

}  // namespace ddpsim
