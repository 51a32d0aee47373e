// The key `workload`: a recorded trace, or a model; and whose GPU computes it.
#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "sim/base/limits.hpp"
#include "sim/text/doubts.hpp"
#include "sim/text/gpu_file.hpp"
#include "sim/text/plausibility.hpp"
#include "sim/text/scenario_reader.hpp"
#include "sim/text/software_file.hpp"
#include "sim/trace/trace_file.hpp"

namespace ddpsim {
namespace {

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

std::shared_ptr<const GpuDescription> ScenarioReader::find_gpu(const GivenJob& given) {
  const auto& cluster = given.job.cluster;
  if (cluster.gpu == "none") return nullptr;
  if (cluster.gpu)
    return cached(gpus_, resolve(PresetKind::gpus, given.located(*cluster.gpu, "cluster.gpu")), read_gpu);
  if (!cluster.topology) return nullptr;
  const auto& named = find_topology(given)->gpu;
  return named ? cached(gpus_, *named, read_gpu) : nullptr;
}

std::shared_ptr<const LayerTrace> ScenarioReader::find_trace(const GivenJob& given,
                                                             const std::shared_ptr<const GpuDescription>& gpu,
                                                             Scenario& scenario) {
  const auto& workload = given.job.workload;
  if (!workload.trace)
    throw InputError(given.at("workload"), "'workload' lacks the key 'trace'", "add 'trace: ...'");
  auto load_gpu = [this](const Located& named) {
    return cached(gpus_, resolve(PresetKind::gpus, named), read_gpu);
  };
  std::optional<Rescale> rescale;
  if (workload.rescale) rescale = read_rescale(given, gpu, load_gpu);
  auto recorded = cached(traces_, resolve(given.located(*workload.trace, "workload.trace")), read_trace);
  auto [notes, is_new] = notes_.try_emplace({recorded.get(), gpu.get()});
  if (is_new) notes->second = recorded_notes(*recorded, gpu.get());
  scenario.notes = notes->second;
  if (!rescale) return recorded;
  scenario.doubts.push_back(rescaled_doubt());
  auto& trace = rescaled_traces_[{recorded.get(), *rescale}];
  if (!trace) trace = std::make_shared<const LayerTrace>(rescaled(*recorded, *rescale));
  return trace;
}

std::shared_ptr<const LayerTrace> ScenarioReader::find_model(const GivenJob& given,
                                                             const std::shared_ptr<const GpuDescription>& gpu,
                                                             Scenario& scenario) {
  if (!gpu)
    throw InputError(given.at("workload.model"), "nothing says which GPU computes the model",
                     "add cluster.gpu: h100-sxm, or take a topology that names its GPU");
  bool sharded = scenario.is(&StrategyTraits::is_sharded);
  auto& known = models_[{sections(given, {"workload", "optimizer"}), gpu.get(), sharded}];
  FileResolver files = [this](PresetKind kind, const Located& named) { return resolve(kind, named); };
  SoftwareLoader load = [this](const std::string& path, const std::string& gpu_name) {
    auto known_software = software_.find({path, gpu_name});
    if (known_software == software_.end())
      known_software = software_.emplace(std::pair(path, gpu_name), read_software(path, gpu_name)).first;
    return known_software->second;
  };
  if (!known)
    known =
        std::make_shared<const ModelWorkload>(read_workload_model(given, *gpu, files, load, sharded, parts_));
  scenario.notes = known->notes;
  scenario.doubts = known->doubts;
  if (known->step) scenario.model_step = {known, &*known->step};
  return {known, &known->trace};
}

void ScenarioReader::read_workload(const GivenJob& given, const std::shared_ptr<const GpuDescription>& gpu,
                                   Scenario& scenario, DdpOptions& options) {
  const auto& workload = given.job.workload;
  options.unused_parameters = workload.unused_parameters;
  bool has_model = workload.model.kind != config::Value::Kind::null;
  auto trace = has_model ? find_model(given, gpu, scenario) : find_trace(given, gpu, scenario);
  if (double scale = workload.scale_bytes; scale != 1) {
    auto& scaled = scaled_traces_[{trace.get(), scale}];
    if (!scaled) scaled = scale_elements(*trace, scale, given.at("workload.scale_bytes"));
    trace = scaled;
  }
  scenario.trace = std::move(trace);
}

}  // namespace ddpsim
