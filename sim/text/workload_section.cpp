// The key `workload`: a recorded trace, or a model; and whose GPU computes it.
#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "sim/base/limits.hpp"
#include "sim/config/reader.hpp"
#include "sim/text/doubts.hpp"
#include "sim/text/gpu_file.hpp"
#include "sim/text/plausibility.hpp"
#include "sim/text/scenario_reader.hpp"
#include "sim/text/software_file.hpp"
#include "sim/trace/trace_file.hpp"

namespace ddpsim {
namespace {

using config::as_list;
using config::as_number;
using config::as_string;
using config::MapReader;
using config::Value;

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
  scenario.doubts.push_back(rescaled_doubt());
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
  if (const auto* scale = workload.find("scale_bytes"))
    throw InputError(scale->value.span, "workload.scale_bytes and workload.model exclude each other",
                     "a model's gradients are as large as its sizes say");
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
    known = std::make_shared<const ModelWorkload>(
        read_workload_model(workload, *gpu, files, load, sharded, parts_));
  scenario.notes = known->notes;
  scenario.doubts = known->doubts;
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

}  // namespace ddpsim
