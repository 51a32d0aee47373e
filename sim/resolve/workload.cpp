#include "sim/resolve/workload.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "sim/base/limits.hpp"
#include "sim/gpu/plausible_compute.hpp"
#include "sim/resolve/doubts.hpp"
#include "sim/resolve/plausibility.hpp"
#include "sim/resolve/sections.hpp"
#include "sim/resolve/workload_model.hpp"
#include "sim/resolve/workload_recording.hpp"

namespace ddpsim {
namespace {

constexpr std::size_t kKeptByTrace = 200'000;  // bytes, roughly

// A recorded trace, or an estimate of a model, as the workload's `scale_bytes` and `rescale` leave it.
struct NotesKey {
  using Value = std::vector<Note>;
  std::string trace;
  KnownGpu gpu;
  auto operator<=>(const NotesKey&) const = default;
};
struct RescaledKey {
  using Value = std::shared_ptr<const LayerTrace>;
  std::string trace;
  Rescale rescale;
  auto operator<=>(const RescaledKey&) const = default;
  static std::size_t kept(const Value&) { return kKeptByTrace; }
};
struct EstimatedKey {
  using Value = std::shared_ptr<const ModelWorkload>;
  JobTexts texts;
  KnownGpu gpu;
  bool is_sharded, holds_16_bits;
  auto operator<=>(const EstimatedKey&) const = default;
  static std::size_t kept(const Value&) { return kKeptByTrace; }
};
// As scale_bytes leaves them: of what the section says in any case.
struct ScaledKey {
  using Value = std::shared_ptr<const LayerTrace>;
  EstimatedKey of;
  auto operator<=>(const ScaledKey&) const = default;
  static std::size_t kept(const Value&) { return kKeptByTrace; }
};

EstimatedKey estimated_key(const GivenJob& given, const KnownGpu& gpu, const Scenario& scenario) {
  return {texts_of(given, {"workload", "optimizer"}), gpu, scenario.is(&StrategyTraits::is_sharded),
          given.job.holds_16_bit_weights()};
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

std::shared_ptr<const LayerTrace> find_trace(Files& files, const GivenJob& given, const KnownGpu& gpu,
                                             Scenario& scenario) {
  const auto& workload = given.job.workload;
  if (!workload.trace)
    throw InputError(given.at("workload"), "'workload' lacks the key 'trace'", "add 'trace: ...'");
  std::optional<Rescale> rescale;
  if (workload.rescale)
    rescale = read_rescale(
        given, gpu, [&](const Located& named) { return files.gpu(files.path_of(PresetKind::gpus, named)); });
  auto path = files.path_of(given.located(*workload.trace, "workload.trace"));
  auto recorded = files.trace(path);
  scenario.notes = files.once(NotesKey{path, gpu}, [&] { return recorded_notes(*recorded, gpu.get()); });
  const auto& device = recorded->metadata.device;
  bool is_of_other_gpu = gpu && device && !is_device(*device, gpu->name);
  scenario.doubts = trace_doubts(*recorded, rescale.has_value(), is_of_other_gpu);
  if (!rescale) return recorded;
  return files.once(RescaledKey{path, *rescale},
                    [&] { return std::make_shared<const LayerTrace>(rescaled(*recorded, *rescale)); });
}

std::shared_ptr<const LayerTrace> find_model(Files& files, const GivenJob& given, const KnownGpu& gpu,
                                             Scenario& scenario) {
  if (!gpu)
    throw InputError(given.at("workload.model"), "nothing says which GPU computes the model",
                     "add cluster.gpu: h100-sxm, or take a topology that names its GPU");
  auto key = estimated_key(given, gpu, scenario);
  auto known = files.once(key, [&] {
    return std::make_shared<const ModelWorkload>(read_workload_model(files, given, *gpu, key.is_sharded));
  });
  scenario.notes = known->notes;
  scenario.doubts = known->doubts;
  if (known->step) scenario.model_step = {known, &*known->step};
  return {known, &known->trace};
}

}  // namespace

void find_workload(Files& files, const GivenJob& given, const KnownGpu& gpu, Scenario& scenario) {
  const auto& workload = given.job.workload;
  bool has_model = workload.model.kind != config::Value::Kind::null;
  auto find = has_model ? find_model : !workload.recording.empty() ? find_recording : find_trace;
  auto trace = find(files, given, gpu, scenario);
  if (double scale = workload.scale_bytes; scale != 1)
    trace = files.once(ScaledKey{estimated_key(given, gpu, scenario)},
                       [&] { return scale_elements(*trace, scale, given.at("workload.scale_bytes")); });
  scenario.trace = std::move(trace);
}

}  // namespace ddpsim
