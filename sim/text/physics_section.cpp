#include "sim/base/limits.hpp"
#include "sim/config/reader.hpp"
#include "sim/text/physics_calibration.hpp"
#include "sim/text/sections.hpp"
#include "sim/variability/expected_slowest.hpp"

namespace ddpsim {
namespace {

using config::as_bandwidth;
using config::as_number;
using config::as_seconds;
using config::MapReader;
using config::Value;

bool is_word(const Value* value, std::string_view word) {
  return value && value->kind == Value::Kind::scalar && value->scalar == word;
}

// A number for both, or each by itself.
Interference read_interference(const Value& value) {
  auto number = as_number(0, kLargestInterference);
  if (value.kind != Value::Kind::map) {
    double both = number(value);
    return {both, both};
  }
  MapReader reader(value, "physics.interference");
  Interference interference{reader.required("compute", number), reader.required("collective", number)};
  reader.finish();
  return interference;
}

// What implementations do, not what fits. PyTorch's reducer copies each gradient into its bucket and divides
// it on the way (or divides it there, where it is a view of the bucket) and, unless it is such a view, copies
// it back. Buckets written by hand, and a flat buffer, are filled, divided and copied back; flattening a
// single tensor gives that very tensor, which is only divided, as all gradients are that are all-reduced one
// by one.
void passes_as_implemented(const ReductionPlan& plan, const DdpOptions& options, Overheads& overheads) {
  constexpr Passes kDivision{0, 1}, kByHand{1, 2};
  if (plan.strategy == Strategy::data_parallel) {
    overheads.passes = overheads.passes_of_one = {1, 0};
  } else if (plan.strategy == Strategy::parameter_server) {
    overheads.passes = overheads.passes_of_one = {0, 0};
  } else if (is_sharded(plan.strategy)) {
    overheads.passes = overheads.passes_of_one = {1, 1};
  } else if (plan.strategy == Strategy::naive || plan.strategy == Strategy::overlap) {
    overheads.passes = overheads.passes_of_one = kDivision;
  } else if (plan.strategy == Strategy::ddp && options.rule == BucketRule::torch) {
    overheads.passes = overheads.passes_of_one = {1, options.gradient_as_bucket_view ? 0.0 : 1.0};
    overheads.compresses = plan.comm_hook != CommHook::none;
  } else {
    overheads.passes = kByHand;
    overheads.passes_of_one = kDivision;
  }
}

void read_passes(const Value* value, const ReductionPlan& plan, const DdpOptions& options,
                 Overheads& overheads) {
  if (is_word(value, "none")) return;
  if (!value || is_word(value, "auto")) return passes_as_implemented(plan, options, overheads);
  MapReader reader(*value, "physics.passes", {"none", "auto"});
  auto number = as_number(0, kMostPasses);
  overheads.passes = {reader.required("in", number), reader.required("out", number)};
  overheads.passes_of_one = overheads.passes;
  reader.finish();
}

// Of gradients; a type the GPU has no peak for is multiplied as float32.
FlopsPerSecond product_rate(const GpuDescription& gpu, DType dtype) {
  auto precision = precision_of(dtype);
  return peak_of(gpu, gpu.peak.contains(precision) ? precision : Precision::float32);
}

// Where the section says nothing of interference.
void take_range(const GpuDescription& gpu, Interference& middle, Physics::Range& range) {
  const auto& [s_least, s_most] = gpu.compute_slowdown;
  const auto& [r_least, r_most] = gpu.collective_slowdown;
  range.least.interference = {s_least, r_least};
  range.most.interference = {s_most, r_most};
  middle = {(s_least + s_most) / 2, (r_least + r_most) / 2};
}

// The range that published jobs allow (docs/accuracy.md, "What jobs lose as they grow").
constexpr double kLeastSpread = 0.01, kMostSpread = 0.03;

// `value`: the section `spread`. `usual` is that of ranks where it is not said.
Spread read_spread(const Value& value, double usual) {
  if (is_word(&value, "none")) return {};
  MapReader reader(value, "spread", {"none"});
  auto share = as_number(0, kLargestSpread);
  Spread spread{reader.optional("ranks", share).value_or(usual), reader.optional("nodes", share).value_or(0)};
  reader.finish();
  return spread;
}

// The section's calibration, read with what else it says of interference. Nothing where it says nothing.
std::optional<PhysicsCalibration> read_interference(MapReader& reader, const PathResolver& resolve) {
  const Value* given = reader.find("interference");
  const Value* calibration = reader.find("calibration");
  if (given && calibration)
    throw InputError(calibration->span, "physics.calibration and physics.interference exclude each other",
                     "remove one of the two");
  if (given) return PhysicsCalibration{read_interference(*given)};
  if (calibration) return read_physics_calibration(resolve(*calibration));
  return std::nullopt;
}

// How much GPUs differ: what the section says, what was calibrated, or (true: it is a range) what is usual.
bool settle_spread(const Value* section, const GpuDescription* gpu,
                   const std::optional<PhysicsCalibration>& calibration, Physics& physics,
                   Physics::Range& range) {
  auto calibrated = calibration ? calibration->spread : std::nullopt;
  if (calibrated && section && section->find("ranks"))
    throw InputError(section->find("ranks")->value.span,
                     "spread.ranks and the spread of physics.calibration exclude each other",
                     "remove one of the two");
  double usual = calibrated.value_or(gpu ? kUsualSpread : 0);
  physics.spread = section ? read_spread(*section, usual) : Spread{usual, 0};
  range.least.spread = range.most.spread = physics.spread;
  if (section || calibrated || !gpu) return false;
  range.least.spread.ranks = kLeastSpread;
  range.most.spread.ranks = kMostSpread;
  return true;
}

// The same for interference.
bool settle_interference(const GpuDescription* gpu, const std::optional<PhysicsCalibration>& calibration,
                         Physics& physics, Physics::Range& range) {
  if (gpu && !calibration) {
    take_range(*gpu, physics.interference, range);
    return true;
  }
  if (calibration) physics.interference = calibration->interference;
  range.least.interference = range.most.interference = physics.interference;
  return false;
}

Seconds read_launch(MapReader& reader, const std::optional<PhysicsCalibration>& calibration) {
  auto calibrated = calibration ? calibration->launch : std::nullopt;
  const Value* given = reader.find("launch");
  if (given && calibrated)
    throw InputError(given->span, "physics.launch and the launch of physics.calibration exclude each other",
                     "remove one of the two");
  return given ? as_seconds(*given) : calibrated.value_or(Seconds(0));
}

void read_overheads(MapReader& reader, const GpuDescription* gpu,
                    const std::optional<PhysicsCalibration>& calibration, const ReductionPlan& plan,
                    const DdpOptions& options, Overheads& overheads) {
  overheads.pass_bandwidth = reader.optional("pass_bandwidth", as_bandwidth);
  auto pass_launch = reader.optional("pass_launch", as_seconds);
  if (gpu && !overheads.pass_bandwidth) {
    overheads.pass_bandwidth = gpu->memory_bandwidth * gpu->copy_efficiency;
    overheads.pass_launch = gpu->copy_launch;
  }
  overheads.pass_launch = pass_launch.value_or(overheads.pass_launch);
  const Value* passes = reader.find("passes");
  if (passes && !overheads.pass_bandwidth && !is_word(passes, "none"))
    throw InputError(passes->span, "nothing says how long a pass over memory takes",
                     "set physics.pass_bandwidth, at most the GPU's memory bandwidth, or cluster.gpu");
  if (overheads.pass_bandwidth) read_passes(passes, plan, options, overheads);
  if (gpu && plan.low_rank) overheads.product_rate = product_rate(*gpu, plan.buckets.front().dtype);
  overheads.gradient = reader.optional("gradient", as_seconds).value_or(Seconds(0));
  overheads.launch = read_launch(reader, calibration);
  overheads.first_start = reader.optional("first_start", as_seconds).value_or(Seconds(0));
}

}  // namespace

Physics read_physics_section(const PhysicsSections& sections, const GpuDescription* gpu,
                             const ReductionPlan& plan, const DdpOptions& options,
                             const PathResolver& resolve) {
  Physics physics;
  if (is_word(sections.physics, "none")) {
    if (sections.spread && !is_word(sections.spread, "none"))
      throw InputError(sections.spread->span, "physics: none leaves out what GPUs differ in",
                       "remove 'spread', or physics: none");
    return physics;
  }
  static const Value kNothing = [] {
    Value nothing;
    nothing.kind = Value::Kind::map;
    return nothing;
  }();
  MapReader reader(sections.physics ? *sections.physics : kNothing, "physics", {"none"});
  auto calibration = read_interference(reader, resolve);
  Physics::Range range;
  bool vague_spread = settle_spread(sections.spread, gpu, calibration, physics, range);
  bool vague_interference = settle_interference(gpu, calibration, physics, range);
  if (vague_spread || vague_interference) physics.range = range;
  read_overheads(reader, gpu, calibration, plan, options, physics.overheads);
  reader.finish();
  return physics;
}

}  // namespace ddpsim
