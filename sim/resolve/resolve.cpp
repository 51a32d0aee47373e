#include "sim/resolve/resolve.hpp"

#include <fmt/core.h>

#include "sim/base/doing.hpp"
#include "sim/engine/scaled_all_reduces.hpp"
#include "sim/evidence/conditioning.hpp"
#include "sim/resolve/doubts.hpp"
#include "sim/resolve/plausibility.hpp"
#include "sim/resolve/rccl.hpp"
#include "sim/resolve/shared_model.hpp"
#include "sim/resolve/unused_keys.hpp"
#include "sim/resolve/workload.hpp"
#include "sim/resolve/workload_recording.hpp"
#include "sim/text/evidence_file.hpp"
#include "sim/text/physics_calibration.hpp"
#include "sim/text/software_file.hpp"

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
  if (scenario.communication && scenario.communication->library)
    throw InputError(
        place,
        fmt::format("{}'s copies and what its processes do on hosts have no links for '{}' to simulate",
                    backend_words(scenario.communication->library->backend()), name),
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

void settle_physics(const Files& files, const GivenJob& given, const GpuDescription* gpu,
                    const DdpOptions& options, Scenario& scenario) {
  auto& physics = scenario.physics = read_physics(files, given, gpu, scenario.plan, options);
  add(scenario.notes, pass_bandwidth_note(physics.overheads.pass_bandwidth, gpu));
  if (scenario.communication && scenario.communication->is_alone()) physics.overheads.first_start = {};
  if (!scenario.parallel) check_ddp_extras(given, scenario);
  if (!scenario.is_asynchronous()) return;
  // No worker waits for the slowest.
  physics.spread = {};
  if (auto& range = physics.range) range->least.spread = range->most.spread = {};
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

void scale_table(const GivenJob& given, Scenario& scenario) {
  const auto& scale = given.job.collective.scale;
  if (scale == LinkScale()) return;
  if (!scenario.measured_table->grows())
    throw InputError(given.at("collective.scale"),
                     "the table's times fall with size, so that nothing says what of them is latency",
                     "use a table whose times grow, or remove 'scale'");
  scale_all_reduces(scenario, {scale.latency, 1 / scale.bandwidth});
}

// Of a model that each GPU has all of.
std::shared_ptr<const RankPlaces> resolve_whole_model(Files& files, const GivenJob& given,
                                                      Collective& collective, const DdpOptions& options,
                                                      Scenario& scenario) {
  const auto& strategy = *given.job.strategy;
  auto choice = choice_of(files, given, options, scenario);
  if (strategy.traits.is_ddp) check_process_groups(given);
  collective.communicators = strategy.communicators(choice);
  collective.program_of_rank = strategy.program_of_rank(choice);
  collective.shards = choice.shards;
  if (strategy.traits.has_servers) use_servers(given, collective);
  auto places = resolve_cluster(files, given, collective, scenario);
  settle_host(files, given, &collective, scenario);
  plan_strategy(given, std::move(choice), scenario);
  if (scenario.measured_table) scale_table(given, scenario);
  return places;
}

void settle_variability(Files& files, const GivenJob& given, const RankPlaces& places, Scenario& scenario) {
  if (!given.job.variability) return;
  if (scenario.is_asynchronous())
    throw InputError(given.at("variability"), "iterations of asynchronous workers are not drawn",
                     "remove 'variability', or write parameter_server: {synchronous: true}");
  sample(files, given, places, scenario);
}

constexpr std::string_view kUsualEvidence = "default";

struct EvidenceKey {
  using Value = std::shared_ptr<const Evidence>;
  std::string file;      // besides the default; empty: none
  std::string software;  // that may say more, calibrated to steps; empty: none
  std::string physics;   // likewise
  bool is_none = false;
  auto operator<=>(const EvidenceKey&) const = default;
};

// Null: evidence: none, and nothing was found by calibrations, which predictions have in any case.
std::shared_ptr<const Evidence> find_evidence(Files& files, const GivenJob& given) {
  const auto& said = given.job.evidence;
  EvidenceKey key;
  key.is_none = said == "none";
  if (said && !key.is_none) key.file = files.path_of(PresetKind::evidence, given.located(*said, "evidence"));
  const auto &framework = given.job.workload.framework, &compute = given.job.workload.compute;
  const char* place = framework ? "workload.framework" : "workload.compute";
  if (framework || compute)
    key.software =
        files.path_of(PresetKind::software, given.located(framework ? *framework : *compute, place));
  const auto& physics = given.job.physics.calibration;
  if (physics) key.physics = files.path_of(given.located(*physics, "physics.calibration"));
  return files.once(key, [&]() -> EvidenceKey::Value {
    Evidence evidence;
    if (!key.is_none)
      evidence = read_evidence(
          find_preset(PresetKind::evidence, kUsualEvidence).value_or(std::string(kUsualEvidence)));
    if (!key.file.empty()) evidence = read_evidence(key.file, std::move(evidence));
    if (!key.software.empty()) evidence = read_software_evidence(key.software, std::move(evidence));
    if (!key.physics.empty()) evidence = read_physics_evidence(key.physics, std::move(evidence));
    if (key.is_none) {
      if (evidence.found.empty()) return nullptr;
      evidence.lines.clear();
      evidence.measured.clear();
    }
    if (!weigh(evidence))
      throw InputError(given.at(!key.software.empty()  ? place
                                : !key.physics.empty() ? "physics.calibration"
                                                       : "evidence"),
                       "a step that it says was measured is far from all that the evidence holds possible",
                       "calibrate again: what was described is not what was measured");
    return std::make_shared<const Evidence>(std::move(evidence));
  });
}

// Of the whole, once it is known.
std::vector<Note> last_notes(Files& files, const GivenJob& given, const Scenario& scenario) {
  std::vector<Note> notes;
  const auto& variability = given.job.variability;
  if (given.job.cluster.topology)
    add(notes, weather_notes(*find_topology(files, given), scenario,
                             variability && variability->weather.has_value()));
  add(notes, textbook_note(left_out_of(scenario, given)));
  if (scenario.measured_table) add(notes, table_notes(*scenario.measured_table));
  return notes;
}

}  // namespace

const SourceSpan& shard_group_place(const GivenJob& given) {
  for (const char* key : {"fsdp.shard_group", "strategy"})
    if (given.has(key)) return given.at(key);
  return given.at("");
}

Scenario resolve_step(Files& files, const config::Value& root) {
  auto given = read_partial_job(root);
  if (auto told = with_recorded_world_size(files, given)) return resolve_step(files, *told);
  Scenario scenario;
  scenario.ddp = given.job.ddp;
  scenario.ddp.unused_parameters = given.job.workload.unused_parameters;
  scenario.strategy = given.job.strategy;
  find_workload(files, given, find_gpu(files, given), scenario);
  scenario.world_size = given.job.cluster.world_size;
  for (const auto& group : read_groups(given))
    scenario.groups.push_back({static_cast<int>(group.ranks.size()), {}, {}});
  auto parallel = read_parallel_section(given);
  note_unused_keys(given, scenario);
  settle_batch(given, parallel, scenario, scenario.ddp);
  if (parallel.splits_model()) {
    auto shared = shared_options(files, given, parallel, scenario.ddp, scenario);
    scenario.parallel = shared_step(files, given, parallel, shared, {}, scenario);
    scenario.plan.accumulation_steps = scenario.ddp.accumulation_steps;
    scenario.groups = {{shared.degrees.data, {}, {}}};
    return scenario;
  }
  auto choice = choice_of(files, given, scenario.ddp, scenario);
  settle_shard_group(files, given, choice);
  settle_host(files, given, nullptr, scenario);
  plan_strategy(given, std::move(choice), scenario);
  return scenario;
}

Scenario resolve(Files& files, const config::Value& root) {
  return resolve(files, read_job(root));
}

Scenario resolve(Files& files, const GivenJob& given) {
  Doing doing("reading the scenario");
  if (auto told = with_recorded_world_size(files, given)) return resolve(files, read_job(*told));
  Scenario scenario;
  DdpOptions options = given.job.ddp;
  options.unused_parameters = given.job.workload.unused_parameters;
  auto gpu = find_gpu(files, given);
  scenario.strategy = given.job.strategy;
  find_workload(files, given, gpu, scenario);
  auto collective = find_collective(files, given);
  auto parallel = read_parallel_section(given);
  note_unused_keys(given, scenario);
  settle_batch(given, parallel, scenario, options);
  auto places = parallel.splits_model()
                    ? resolve_shared_model(files, given, collective, parallel, options, scenario)
                    : resolve_whole_model(files, given, collective, options, scenario);
  settle_physics(files, given, gpu.get(), options, scenario);
  add(scenario.notes, background_note(given, scenario));
  scenario.failures = given.job.failures;
  scenario.training_tokens = given.job.workload.tokens;
  if (gpu) {
    scenario.gpu = gpu->name;
    if (given.job.cluster.topology)
      add(scenario.notes, architecture_notes(*gpu, *find_topology(files, given)));
  }
  if (given.job.cluster.topology) say_rccl(given, gpu.get(), *find_topology(files, given), scenario);
  add(scenario.notes, software_scope_note(scenario));
  if (scenario.physics.spread.nodes > 0 && !places->knows_nodes)
    throw InputError(given.at("spread"), "without a topology nothing says which ranks a node holds",
                     "add cluster.topology, or leave spread.nodes out");
  choose_fidelity(given, scenario);
  settle_variability(files, given, *places, scenario);
  settle_broadcasts(scenario);
  scenario.evidence = find_evidence(files, given);
  add_step_doubts(scenario);
  take_found(scenario);
  add(scenario.notes, last_notes(files, given, scenario));
  scenario.validation = validation_settings(files, given);
  return scenario;
}

}  // namespace ddpsim
