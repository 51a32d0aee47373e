#include "sim/text/scenario_reader.hpp"

#include <filesystem>

#include <fmt/core.h>

#include "sim/base/doing.hpp"
#include "sim/base/file_stamps.hpp"
#include "sim/config/overrides.hpp"
#include "sim/engine/scaled_all_reduces.hpp"
#include "sim/text/cluster_mesh.hpp"
#include "sim/text/cluster_section.hpp"
#include "sim/text/doubts.hpp"
#include "sim/text/parallel_section.hpp"
#include "sim/text/plausibility.hpp"
#include "sim/text/sections.hpp"
#include "sim/text/unused_keys.hpp"

namespace ddpsim {
namespace {

void add(std::vector<Note>& notes, std::optional<Note> note) {
  if (note) notes.push_back(*std::move(note));
}

void add(std::vector<Note>& notes, std::vector<Note> more) {
  std::ranges::move(more, std::back_inserter(notes));
}

void check_fidelity(const GivenJob& given, const Scenario& scenario) {
  auto wanted = given.job.engine.fidelity;
  if (!wanted || *wanted == Fidelity::closed_form) return;
  const auto& place = given.at("engine.fidelity");
  auto name = name_in(kFidelityNames, *wanted);
  if (scenario.measured_table)
    throw InputError(place, fmt::format("a measured cost has no links for '{}' to simulate", name),
                     "use fidelity: closed_form or auto, or algorithm: ring");
  if (scenario.communication && scenario.communication->gloo)
    throw InputError(
        place, fmt::format("Gloo's copies and its ring on hosts have no links for '{}' to simulate", name),
        "use fidelity: closed_form or auto, or algorithm: ring");
  if (scenario.is_asynchronous())
    throw InputError(place, "asynchronous workers are in a steady state, which is no simulation's",
                     "use fidelity: auto");
}

// `auto`: the closed form wherever nobody shares a link, where simulation adds nothing (it gives the same to
// 3e-15); elsewhere the cheapest simulation that knows contention, lazy.
void choose_fidelity(const GivenJob& given, Scenario& scenario) {
  check_fidelity(given, scenario);
  scenario.network = given.job.engine.network;
  bool is_alone = scenario.communication && scenario.communication->is_alone();
  if (scenario.is_asynchronous() || is_alone) {
    scenario.fidelity = Fidelity::closed_form;
    return;
  }
  bool is_settled = scenario.measured_table || scenario.communication->is_settled();
  bool is_contended = !is_settled && scenario.communication->folded->is_contended();
  scenario.fidelity =
      given.job.engine.fidelity.value_or(is_contended ? Fidelity::lazy : Fidelity::closed_form);
  if (is_contended && scenario.fidelity == Fidelity::closed_form)
    throw InputError(given.at("engine.fidelity"),
                     "the closed form knows no contention, and here several share a link",
                     "use fidelity: auto");
}

std::optional<Note> background_note(const GivenJob& given, const Scenario& scenario) {
  if (!scenario.strategy_plan || !given.has("cluster.background")) return std::nullopt;
  return Note{"background-offset",
              "background traffic counts from when the backward pass would start if no gather were "
              "waited for: under a sharded strategy that is earlier than it starts"};
}

void settle_physics(const GivenJob& given, const GpuDescription* gpu, const DdpOptions& options,
                    const PathResolver& resolve_path, Scenario& scenario) {
  auto& physics = scenario.physics = read_physics(given, gpu, scenario.plan, options, resolve_path);
  add(scenario.notes, pass_bandwidth_note(physics.overheads.pass_bandwidth, gpu));
  add(scenario.notes, host_time_note(*scenario.strategy));
  if (scenario.communication && scenario.communication->is_alone()) physics.overheads.first_start = {};
  if (!scenario.parallel) check_ddp_extras(given, scenario);
  if (!scenario.is_asynchronous()) return;
  // No worker waits for the slowest.
  physics.spread = {};
  if (auto& range = physics.range) range->least.spread = range->most.spread = {};
}

const SourceSpan& shard_group_place(const GivenJob& given) {
  for (const char* key : {"fsdp.shard_group", "strategy"})
    if (given.has(key)) return given.at(key);
  return given.at("");
}

// Where no GPU is known, what nothing else says either.
LeftOut left_out_of(const Scenario& scenario, const GivenJob& given) {
  if (scenario.gpu || given.job.physics.is_none || scenario.world_size == 1) return {};
  auto says = [&](const char* key) { return given.has(fmt::format("physics.{}", key)); };
  const auto& spread = scenario.physics.spread;
  bool is_drawn = scenario.sampled && scenario.sampled->variability.draws_ranks();
  return {!says("interference") && !says("calibration"), !says("pass_bandwidth") && !says("passes"),
          spread.ranks == 0 && spread.nodes == 0 && !is_drawn};
}

// What a scenario names must be there; why another file cannot be read, its reader says.
std::string existing(std::string path, const Located& named) {
  std::error_code unknown;
  if (std::filesystem::status(path, unknown).type() != std::filesystem::file_type::not_found) return path;
  throw InputError(named.span, fmt::format("there is no file '{}'", path),
                   named.span.is_typed() ? "check the path; it is relative to the current folder"
                                         : "check the path; it is relative to the scenario's folder");
}

void scale_table(const GivenJob& given, Scenario& scenario) {
  const auto& scale = given.job.collective.scale;
  if (scale == LinkScale()) return;
  if (!scenario.measured_table->grows())
    throw InputError(given.at("collective.scale"),
                     "the table's times fall with size, so that nothing says what of them is latency",
                     "use a table whose times grow, or remove 'scale'");
  scale_all_reduces(scenario, {scale.latency, 1 / scale.bandwidth});
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

std::string ScenarioReader::full_path(const Located& path) const {
  namespace fs = std::filesystem;
  fs::path given(path.text);
  bool as_it_is = given.is_absolute() || path.span.is_typed();
  auto resolved = as_it_is ? given : (fs::path(path_).parent_path() / given).lexically_normal();
  return resolved.string();
}

std::string ScenarioReader::resolve(const Located& path) const {
  return existing(full_path(path), path);
}

std::string ScenarioReader::resolve(PresetKind kind, const Located& name_or_path) const {
  bool from_command_line = name_or_path.span.is_typed();
  auto [known, is_new] = paths_.try_emplace({kind, name_or_path.text, from_command_line});
  if (!is_new && !known->second.empty()) return known->second;
  // A file beside the scenario comes before a preset of that name.
  auto path = full_path(name_or_path);
  stamp_file(path);
  std::error_code unreadable;
  if (!std::filesystem::is_regular_file(path, unreadable))
    path = preset_file(kind, name_or_path).value_or(path);
  return known->second = existing(path, name_or_path);
}

auto ScenarioReader::sections(const GivenJob& given, std::initializer_list<std::string_view> paths)
    -> Sections {
  Sections all;
  for (auto path : paths) {
    const auto* value = config::find_at(given.root, path);
    all.push_back(value ? *value : config::Value());
  }
  return all;
}

// Without a network only the nodes' sizes count.
void ScenarioReader::settle_shard_group(const GivenJob& given, StrategyChoice& choice) {
  if (!choice.strategy->traits.shards_within_groups) return;
  try {
    if (!choice.shards && given.job.cluster.topology) {
      auto described = find_topology(given);
      auto built = build_cluster(*described, given, links_, gpus_of(*described, given));
      auto gpus = place_job(given, *described, *built);
      choice.shards = shard_group_ranks(std::nullopt, *built, gpus);
    }
    if (!choice.shards)
      throw InputError("without a topology nothing says which ranks a node holds",
                       "add cluster.topology, or write fsdp: {shard_group: RANKS}");
    check_shard_group(*choice.shards, given.job.cluster.world_size);
  } catch (const InputError& error) {
    throw error.at(shard_group_place(given));
  }
}

Scenario ScenarioReader::read_step(const config::Value& root) {
  auto given = read_partial_job(root);
  Scenario scenario;
  scenario.ddp = given.job.ddp;
  scenario.strategy = given.job.strategy;
  read_workload(given, find_gpu(given), scenario, scenario.ddp);
  scenario.world_size = given.job.cluster.world_size;
  for (const auto& group : read_groups(given))
    scenario.groups.push_back({static_cast<int>(group.ranks.size()), {}, {}});
  auto parallel = read_parallel_section(given);
  note_unused_keys(given, scenario);
  settle_batch(given, parallel, scenario, scenario.ddp);
  if (parallel.splits_model()) {
    auto degrees = degrees_of(parallel, scenario.world_size);
    auto shared = shared_options(given, parallel, degrees, scenario.ddp, scenario);
    scenario.parallel = shared_step(given, parallel, shared, {}, {}, {}, scenario);
    scenario.plan.accumulation_steps = scenario.ddp.accumulation_steps;
    scenario.groups = {{degrees.data, {}, {}}};
    return scenario;
  }
  auto choice = choice_of(given, scenario.ddp, scenario);
  settle_shard_group(given, choice);
  settle_host(given, scenario);
  read_strategy(given, std::move(choice), scenario);
  return scenario;
}

Scenario ScenarioReader::read(const config::Value& root) {
  return read(read_job(root));
}

Scenario ScenarioReader::read(const GivenJob& given) {
  Doing doing("reading the scenario");
  const auto& strategy = *given.job.strategy;
  auto wanted = given.job.engine.fidelity;
  Scenario scenario;
  DdpOptions options = given.job.ddp;
  auto gpu = find_gpu(given);
  scenario.strategy = &strategy;
  read_workload(given, gpu, scenario, options);
  auto collectives = read_collective(given);
  auto parallel = read_parallel_section(given);
  note_unused_keys(given, scenario);
  settle_batch(given, parallel, scenario, options);
  std::shared_ptr<const RankPlaces> places;
  if (parallel.splits_model()) {
    places = read_shared_model(given, collectives, parallel, options, wanted, scenario);
  } else {
    auto choice = choice_of(given, options, scenario);
    if (strategy.traits.is_ddp) check_process_groups(given);
    collectives.communicators = strategy.communicators(choice);
    collectives.shard_group = {choice.shards, shard_group_place(given)};
    if (strategy.traits.has_servers) use_servers(given, collectives);
    places = read_cluster(given, collectives, wanted, scenario);
    settle_host(given, scenario);
    read_strategy(given, std::move(choice), scenario);
    if (scenario.measured_table) scale_table(given, scenario);
  }
  PathResolver resolve_path = [this](const Located& path) { return resolve(path); };
  settle_physics(given, gpu.get(), options, resolve_path, scenario);
  add(scenario.notes, background_note(given, scenario));
  scenario.failures = given.job.failures;
  if (gpu) {
    scenario.gpu = gpu->name;
    if (given.job.cluster.topology) add(scenario.notes, architecture_notes(*gpu, *find_topology(given)));
  }
  std::ranges::move(model_doubts(scenario), std::back_inserter(scenario.doubts));
  add(scenario.notes, software_scope_note(scenario));
  if (scenario.physics.spread.nodes > 0 && !places->knows_nodes)
    throw InputError(given.at("spread"), "without a topology nothing says which ranks a node holds",
                     "add cluster.topology, or leave spread.nodes out");
  choose_fidelity(given, scenario);
  const auto& variability = given.job.variability;
  if (variability && scenario.is_asynchronous())
    throw InputError(given.at("variability"), "iterations of asynchronous workers are not drawn",
                     "remove 'variability', or write parameter_server: {synchronous: true}");
  if (variability) read_variability(given, *places, scenario);
  settle_broadcasts(scenario);
  if (given.job.cluster.topology)
    add(scenario.notes,
        weather_notes(*find_topology(given), scenario, variability && variability->weather.has_value()));
  add(scenario.notes, textbook_note(left_out_of(scenario, given)));
  if (scenario.measured_table) add(scenario.notes, table_notes(*scenario.measured_table));
  scenario.validation = validation_settings(given, resolve_path);
  return scenario;
}

}  // namespace ddpsim
