#include "sim/text/scenario_reader.hpp"

#include <algorithm>
#include <cmath>
#include <filesystem>

#include <fmt/core.h>

#include "sim/base/limits.hpp"
#include "sim/config/reader.hpp"
#include "sim/text/gpu_file.hpp"
#include "sim/text/plausibility.hpp"
#include "sim/text/sections.hpp"
#include "sim/text/software_file.hpp"
#include "sim/trace/forward_ends.hpp"
#include "sim/trace/trace_file.hpp"

namespace ddpsim {
namespace {

using config::as_list;
using config::as_number;
using config::as_string;
using config::as_word;
using config::MapReader;
using config::Value;
using config::words_of;

struct Engine {
  const Value* value = nullptr;      // the fidelity's
  std::optional<Fidelity> fidelity;  // none: auto
  SharedNetwork network = SharedNetwork::simgrid;
};

Engine read_engine(const Value* engine) {
  if (!engine) return {};
  MapReader reader(*engine, "engine");
  const Value* value = reader.find("fidelity");
  auto networks = words_of<SharedNetwork>(kSharedNetworkNames, {{"auto", SharedNetwork::simgrid}});
  auto network = reader.optional("network", as_word(networks));
  reader.finish();
  auto words = words_of<std::optional<Fidelity>>(kFidelityNames, {{"auto", std::nullopt}});
  return {value, value ? as_word(words)(*value) : std::nullopt, network.value_or(SharedNetwork::simgrid)};
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
  bool is_settled = scenario.measured_table || scenario.communication->is_settled();
  bool is_contended = !is_settled && scenario.communication->folded->is_contended();
  scenario.fidelity = wanted.value_or(is_contended ? Fidelity::lazy : Fidelity::closed_form);
  if (is_contended && scenario.fidelity == Fidelity::closed_form)
    throw InputError(value->span, "the closed form knows no contention, and here several share a link",
                     "use fidelity: auto");
}

// Where `key` stands in the section `name`, if it does.
const SourceSpan* find_place(const Value& root, std::string_view name, std::string_view key) {
  const auto* section = root.find(name);
  const auto* entry = section ? section->value.find(key) : nullptr;
  return entry ? &entry->value.span : nullptr;
}

// Contradictions between the ddp options are found without their place: the option named is the best place,
// then the section.
ReductionPlan make_plan_at(const Value& root, const LayerTrace& trace, Strategy strategy,
                           const DdpOptions& options) {
  try {
    return make_reduction_plan(trace, strategy, options);
  } catch (const InputError& error) {
    for (const char* section : {"ddp", "workload"})
      if (const auto* place = find_place(root, section, error.subject())) throw error.at(*place);
    throw error.at(root.find(root.find("ddp") ? "ddp" : "workload")->key_span);
  }
}

template <class T, class Load>
std::shared_ptr<const T> cached(std::map<std::string, std::shared_ptr<const T>>& cache,
                                const std::string& path, Load load) {
  auto& entry = cache[path];
  if (!entry) entry = std::make_shared<const T>(load(path));
  return entry;
}

// The same gradients with `scale` times the elements each, at least one: what a scaled-down real run would
// reduce.
std::shared_ptr<const LayerTrace> scale_elements(const LayerTrace& recorded, double scale,
                                                 const SourceSpan& place) {
  if (recorded.bytes() * scale > kLargestByteCount)
    throw InputError(place, fmt::format("gradients scaled by {} are more than 8 PiB", scale),
                     "use a smaller scale_bytes");
  auto trace = std::make_shared<LayerTrace>(recorded);
  for (auto& gradient : trace->gradients)
    gradient.elements =
        std::max<std::int64_t>(1, std::llround(static_cast<double>(gradient.elements) * scale));
  for (auto& bytes : trace->buffers) bytes = std::max(Bytes(1), bytes * scale);
  return trace;
}

}  // namespace

std::string ScenarioReader::resolve(const Value& path) const {
  namespace fs = std::filesystem;
  fs::path given(as_string(path));
  bool from_command_line = path.span.file && path.span.file->name == "--set";
  if (given.is_absolute() || from_command_line) return given.string();
  return (fs::path(path_).parent_path() / given).lexically_normal().string();
}

std::string ScenarioReader::resolve(PresetKind kind, const Value& name_or_path) const {
  // A file beside the scenario comes before a preset of that name.
  auto path = resolve(name_or_path);
  std::error_code unreadable;
  if (std::filesystem::is_regular_file(path, unreadable)) return path;
  return preset_file(kind, name_or_path).value_or(path);
}

std::shared_ptr<const GpuDescription> ScenarioReader::find_gpu(const Value& cluster) {
  if (const auto* gpu = cluster.find("gpu")) {
    if (gpu->value.kind == Value::Kind::scalar && gpu->value.scalar == "none") return nullptr;
    return cached(gpus_, resolve(PresetKind::gpus, gpu->value), read_gpu);
  }
  const auto* topology = cluster.find("topology");
  if (!topology) return nullptr;
  const auto& named = find_topology(topology->value)->gpu;
  return named ? cached(gpus_, *named, read_gpu) : nullptr;
}

std::shared_ptr<const LayerTrace> ScenarioReader::find_trace(const Value& path,
                                                             const std::shared_ptr<const GpuDescription>& gpu,
                                                             const Value* rescale_value, Scenario& scenario) {
  auto load_gpu = [this](const Value& value) {
    return cached(gpus_, resolve(PresetKind::gpus, value), read_gpu);
  };
  std::optional<Rescale> rescale;
  if (rescale_value) rescale = read_rescale_section(*rescale_value, gpu, load_gpu);
  auto recorded = cached(traces_, resolve(path), read_trace);
  auto [notes, is_new] = notes_.try_emplace({recorded.get(), gpu.get()});
  if (is_new) notes->second = recorded_notes(*recorded, gpu.get());
  scenario.notes = notes->second;
  if (!rescale) return recorded;
  auto& trace = rescaled_traces_[{recorded.get(), *rescale}];
  if (!trace) trace = std::make_shared<const LayerTrace>(rescaled(*recorded, *rescale));
  return trace;
}

std::shared_ptr<const LayerTrace> ScenarioReader::find_model(const Value& workload, const Value& model,
                                                             const std::shared_ptr<const GpuDescription>& gpu,
                                                             Scenario& scenario) {
  if (!gpu)
    throw InputError(model.span, "nothing says which GPU computes the model",
                     "add cluster.gpu: h100-sxm, or take a topology that names its GPU");
  for (const char* key : {"trace", "rescale"})
    if (const auto* other = workload.find(key))
      throw InputError(other->value.span,
                       fmt::format("workload.{} and workload.model exclude each other", key),
                       "a trace was recorded, a model's times are estimated for cluster.gpu: keep one");
  bool sharded = is_sharded(scenario.plan.strategy);
  auto& known = models_[{workload, gpu.get(), sharded}];
  FileResolver files = [this](PresetKind kind, const Value& value) { return resolve(kind, value); };
  SoftwareLoader load = [this](const std::string& path, const std::string& gpu_name) {
    auto known_software = software_.find({path, gpu_name});
    if (known_software == software_.end())
      known_software = software_.emplace(std::pair(path, gpu_name), read_software(path, gpu_name)).first;
    return known_software->second;
  };
  if (!known)
    known = std::make_shared<const ModelWorkload>(read_workload_model(workload, *gpu, files, load, sharded));
  scenario.notes = known->notes;
  if (known->step) scenario.model_step = {known, &*known->step};
  return {known, &known->trace};
}

void ScenarioReader::read_workload(const Value& root, const std::shared_ptr<const GpuDescription>& gpu,
                                   Scenario& scenario, DdpOptions& options) {
  MapReader reader(root, "workload");
  const Value* model = reader.find("model");
  const Value* path = model ? reader.find("trace") : &reader.require("trace");
  reader.find("stragglers");  // read with the cluster, once the world size is known
  const Value* scale_value = reader.find("scale_bytes");
  double scale = scale_value ? as_number(1e-9, 1e9)(*scale_value) : 1.0;
  options.unused_parameters =
      reader.optional("unused_parameters", as_list(as_string)).value_or(std::vector<std::string>{});
  const Value* rescale = reader.find("rescale");
  for (const char* key : kWorkloadModelKeys)
    if (const Value* value = reader.find(key); value && !model)
      throw InputError(value->span, fmt::format("workload.{} goes with workload.model", key),
                       "a trace's times are as recorded");
  reader.finish();
  auto trace = model ? find_model(root, *model, gpu, scenario) : find_trace(*path, gpu, rescale, scenario);
  if (scale != 1) {
    auto& scaled = scaled_traces_[{trace.get(), scale}];
    if (!scaled) scaled = scale_elements(*trace, scale, scale_value->span);
    trace = scaled;
  }
  scenario.trace = std::move(trace);
}

void ScenarioReader::read_variability(const Value& value, const Value& cluster, const Value* stragglers,
                                      const RankPlaces& places, Scenario& scenario) {
  auto variability =
      read_variability_section(value, *scenario.trace, [this](const Value& path) { return resolve(path); });
  if (variability.is_off()) return;
  if (variability.needs_nodes() && !places.knows_nodes)
    throw InputError(value.span, "without a topology nothing says which ranks a node holds",
                     "add cluster.topology, or let ranks vary instead of nodes");
  double draws = static_cast<double>(variability.iterations) * scenario.world_size;
  if (draws > kMostDraws)
    throw InputError(value.span,
                     fmt::format("{} iterations of {} ranks are more than a billion draws",
                                 variability.iterations, scenario.world_size),
                     "use fewer iterations");
  const auto& last = scenario.trace->gradients.back();
  auto spread = last.ready_spread.value_or(Seconds(0));
  auto& sampled = sampled_[{spread, last.ready, sections({&cluster, stragglers, &value})}];
  if (!sampled) sampled = std::make_shared<const SampledRanks>(sample_ranks(variability, places.ranks));
  scenario.sampled = sampled;
}

auto ScenarioReader::sections(std::initializer_list<const Value*> read) -> Sections {
  Sections all;
  for (const auto* section : read) all.push_back(section ? *section : Value());
  return all;
}

void ScenarioReader::read_strategy(const Value& root, Strategy strategy, const Value* fsdp,
                                   const DdpOptions& options, Scenario& scenario) {
  scenario.ddp = options;
  if (fsdp && !is_sharded(strategy))
    throw InputError(fsdp->span,
                     fmt::format("'fsdp' goes with strategy fsdp or fsdp1, not {}", strategy_name(strategy)),
                     "remove it, or write strategy: fsdp");
  if (!is_sharded(strategy)) {
    scenario.plan = make_plan_at(root, *scenario.trace, strategy, options);
    return;
  }
  const auto& place = root.find("strategy")->value.span;
  if (scenario.measured_table)
    throw InputError(place, "a measured table knows all-reduces, and a sharded strategy has none",
                     "use another algorithm than measured");
  if (!options.unused_parameters.empty())
    throw InputError(place, "unused parameters are DistributedDataParallel's",
                     "remove workload.unused_parameters");
  for (const auto& group : scenario.groups)
    if (group.ranks != scenario.groups.front().ranks)
      throw InputError(place, "groups of different sizes would hold different shards",
                       "make the groups equal");
  auto computed_in = scenario.trace->gradients.front().dtype;
  if (scenario.model_step && activation_bytes(scenario.model_step->step.precision) == 2)
    computed_in =
        scenario.model_step->step.precision == Precision::float16 ? DType::float16 : DType::bfloat16;
  scenario.fsdp = std::make_shared<const FsdpPlan>(
      make_fsdp_plan(*scenario.trace, strategy, read_fsdp_section(fsdp, computed_in)));
  scenario.plan = reduction_plan(*scenario.trace, *scenario.fsdp, options.accumulation_steps);
  if (auto note = forward_ends(*scenario.trace).note) scenario.notes.push_back(std::move(*note));
  if (scenario.fsdp->units.size() == 1)
    scenario.notes.push_back(
        {"one-unit",
         "no gradient's name has a number that would tell blocks apart: all parameters are one unit, "
         "and nothing overlaps"});
}

Scenario ScenarioReader::read_step(const Value& root) {
  Scenario scenario;
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
  scenario.groups.push_back({scenario.world_size, {}, {}});
  const auto* fsdp = root.find("fsdp");
  read_strategy(root, kind, fsdp ? &fsdp->value : nullptr, DdpOptions(scenario.ddp), scenario);
  return scenario;
}

Scenario ScenarioReader::read(const Value& root) {
  MapReader reader(root, "scenario");
  const Value& workload = reader.require("workload");
  const Value& cluster = reader.require("cluster");
  const Value* collective = reader.find("collective");
  auto strategy = reader.optional("strategy", as_word(words_of(kStrategyNames))).value_or(Strategy::ddp);
  const Value* ddp = reader.find("ddp");
  const Value* fsdp = reader.find("fsdp");
  auto fidelity = read_engine(reader.find("engine"));
  const Value* physics = reader.find("physics");
  const Value* variability = reader.find("variability");
  const Value* validation = reader.find("validation");
  reader.finish();

  Scenario scenario;
  DdpOptions options = read_ddp_section(ddp);
  auto gpu = find_gpu(cluster);
  scenario.plan.strategy = strategy;
  read_workload(workload, gpu, scenario, options);
  const auto* stragglers = workload.find("stragglers");
  bool needs_links = fidelity.fidelity && *fidelity.fidelity != Fidelity::closed_form;
  const Value* slower = stragglers ? &stragglers->value : nullptr;
  auto collectives = read_collective(collective);
  collectives.is_sharded = is_sharded(strategy);
  auto places = read_cluster(cluster, collectives, slower, needs_links, scenario);
  read_strategy(root, strategy, fsdp, options, scenario);
  if (scenario.trace->registration_guessed && depends_on_registration(strategy, options))
    scenario.notes.push_back(
        {"registration-guessed",
         "the trace does not say in which order parameters are registered (column "
         "'parameter'): the reverse of arrival is assumed, and the buckets here depend on it"});
  PathResolver resolve_path = [this](const Value& path) { return resolve(path); };
  scenario.physics = read_physics_section(physics, gpu.get(), scenario.plan, options, resolve_path);
  if (gpu) scenario.gpu = gpu->name;
  choose_fidelity(fidelity, scenario);
  if (variability) read_variability(*variability, cluster, slower, *places, scenario);
  settle_broadcasts(scenario);
  if (scenario.measured_table)
    for (auto& note : table_notes(*scenario.measured_table)) scenario.notes.push_back(std::move(note));
  scenario.validation = read_validation_section(validation, resolve_path);
  return scenario;
}

}  // namespace ddpsim
