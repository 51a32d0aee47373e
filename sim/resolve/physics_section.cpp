#include "sim/base/limits.hpp"
#include "sim/resolve/sections.hpp"
#include "sim/text/physics_calibration.hpp"
#include "sim/variability/expected_slowest.hpp"

namespace ddpsim {
namespace {

// What implementations do, not what fits.
void settle_passes(const GivenJob& given, const ReductionPlan& plan, const DdpOptions& options,
                   Overheads& overheads) {
  const auto& section = given.job.physics;
  if (section.passes && std::holds_alternative<job::Off>(*section.passes)) return;
  const auto* said = section.passes ? std::get_if<job::Passes>(&*section.passes) : nullptr;
  if (!said) return given.job.strategy->set_passes(plan, options, overheads);
  overheads.passes = overheads.passes_of_one = {said->in, said->out};
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

// What the section says of interference, with what was calibrated beside it.
std::optional<PhysicsCalibration> said_interference(const Files& files, const GivenJob& given) {
  const auto& section = given.job.physics;
  if (section.interference) return PhysicsCalibration{*section.interference};
  if (section.calibration)
    return read_physics_calibration(
        files.path_of(given.located(*section.calibration, "physics.calibration")));
  return std::nullopt;
}

// How much GPUs differ: what the section says, what was calibrated, or (true: it is a range) what is usual.
bool settle_spread(const GivenJob& given, const GpuDescription* gpu,
                   const std::optional<PhysicsCalibration>& calibration, Physics& physics,
                   Physics::Range& range) {
  const auto& section = given.job.spread;
  auto calibrated = calibration ? calibration->spread : std::nullopt;
  if (calibrated && section && section->ranks)
    throw InputError(given.at("spread.ranks"),
                     "spread.ranks and the spread of physics.calibration exclude each other",
                     "remove one of the two");
  double usual = calibrated.value_or(gpu ? kUsualSpread : 0);
  physics.spread = {usual, 0};
  if (section) physics.spread = {section->ranks.value_or(usual), section->nodes};
  if (section && section->is_none) physics.spread = {};
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
  physics.is_calibrated = calibration && calibration->is_fitted;
  range.least.interference = range.most.interference = physics.interference;
  return false;
}

Seconds launch_of(const GivenJob& given, const std::optional<PhysicsCalibration>& calibration) {
  auto calibrated = calibration ? calibration->launch : std::nullopt;
  const auto& said = given.job.physics.launch;
  if (said && calibrated)
    throw InputError(given.at("physics.launch"),
                     "physics.launch and the launch of physics.calibration exclude each other",
                     "remove one of the two");
  return said ? *said : calibrated.value_or(Seconds(0));
}

// The textbook, where no GPU is known, has none that nobody says.
Hooks hooks_of(const GivenJob& given, const GpuDescription* gpu) {
  const auto said = given.job.physics.hooks.value_or(job::HostHooks());
  if (said.is_none || (!gpu && !given.job.physics.hooks)) return {};
  auto usual = given.job.strategy->hooks();
  return {said.module.value_or(usual.module), said.gradient.value_or(usual.gradient),
          said.parameter.value_or(usual.parameter), usual.count};
}

void settle_overheads(const GivenJob& given, const GpuDescription* gpu,
                      const std::optional<PhysicsCalibration>& calibration, const ReductionPlan& plan,
                      const DdpOptions& options, Overheads& overheads) {
  const auto& section = given.job.physics;
  overheads.pass_bandwidth = section.pass_bandwidth;
  if (gpu && !overheads.pass_bandwidth) {
    overheads.pass_bandwidth = gpu->memory_bandwidth * gpu->copy_efficiency;
    overheads.pass_launch = gpu->copy_launch;
  }
  overheads.pass_launch = section.pass_launch.value_or(overheads.pass_launch);
  if (overheads.pass_bandwidth)
    settle_passes(given, plan, options, overheads);
  else if (section.passes && !std::holds_alternative<job::Off>(*section.passes))
    throw InputError(given.at("physics.passes"), "nothing says how long a pass over memory takes",
                     "set physics.pass_bandwidth, at most the GPU's memory bandwidth, or cluster.gpu");
  if (gpu && plan.low_rank) overheads.product_rate = product_rate(*gpu, plan.buckets.front().dtype);
  overheads.gradient = section.gradient;
  overheads.launch = launch_of(given, calibration);
  overheads.first_start = section.first_start;
  overheads.hooks = hooks_of(given, gpu);
}

}  // namespace

Physics read_physics(const Files& files, const GivenJob& given, const GpuDescription* gpu,
                     const ReductionPlan& plan, const DdpOptions& options) {
  Physics physics;
  if (given.job.physics.is_none) {
    if (given.job.spread && !given.job.spread->is_none)
      throw InputError(given.at("spread"), "physics: none leaves out what GPUs differ in",
                       "remove 'spread', or physics: none");
    return physics;
  }
  auto calibration = said_interference(files, given);
  Physics::Range range;
  bool vague_spread = settle_spread(given, gpu, calibration, physics, range);
  bool vague_interference = settle_interference(gpu, calibration, physics, range);
  if (vague_spread || vague_interference) physics.range = range;
  settle_overheads(given, gpu, calibration, plan, options, physics.overheads);
  return physics;
}

}  // namespace ddpsim
