#include "sim/engine/knobs.hpp"

#include <algorithm>
#include <initializer_list>

#include "sim/compute/rescale.hpp"

namespace ddpsim {

Software slowed(Software software, const Knobs& knobs) {
  auto share = [&](double& of_peak) { of_peak = std::min(of_peak / knobs.compute, std::max(1.0, of_peak)); };
  share(software.gemm);
  if (software.gemm_fp32) share(*software.gemm_fp32);
  if (software.gemm_tf32) share(*software.gemm_tf32);
  share(software.attention);
  share(software.memory);
  software.host = knobs.launches * software.host;
  return software;
}

namespace {

double on(const Knobs& knobs, const char* axis) {
  auto found = knobs.slower.find(axis);
  return found == knobs.slower.end() ? 1 : found->second;
}

template <class Times>
void take_longer(Times& times, double factor, std::initializer_list<Seconds Times::*> all) {
  for (auto time : all) times.*time = factor * (times.*time);
}

// What passes wait for, inside them.
void slow_passes(ParallelStep& step, const Knobs& knobs) {
  using T = TensorCollectives;
  using C = ContextCollectives;
  using E = ExpertCollectives;
  take_longer(step.tensor, on(knobs, "tensor"),
              {&T::all_reduce, &T::all_gather, &T::reduce_scatter, &T::small});
  take_longer(
      step.context, on(knobs, "context"),
      {&C::keys_values, &C::with_gradients, &C::all_gather, &C::reduce_scatter, &C::inputs, &C::output});
  take_longer(step.expert, on(knobs, "expert"), {&E::dispatch, &E::combine, &E::probabilities, &E::counts});
  take_longer(step.expert, on(knobs, "expert-tensor"), {&E::gather, &E::scatter});
}

bool slows_passes(const Knobs& knobs) {
  return std::ranges::any_of(
      std::initializer_list<const char*>{"tensor", "context", "expert", "expert-tensor"},
      [&](const char* axis) { return on(knobs, axis) != 1; });
}

}  // namespace

void turn(Scenario& scenario, const Knobs& knobs) {
  for (const auto& [axis, factor] : knobs.slower) {
    auto [slower, is_new] = scenario.slower.try_emplace(axis, factor);
    if (!is_new) slower->second *= factor;
  }
  auto& hooks = scenario.physics.overheads.hooks;
  if (knobs.interference) scenario.physics.interference = *knobs.interference;
  if (knobs.spread) scenario.physics.spread.ranks = *knobs.spread;
  for (auto* one : {&hooks.module, &hooks.gradient, &hooks.parameter, &hooks.count})
    *one = knobs.hooks * *one;
  bool computes = knobs.compute != 1 || knobs.launches != 1;
  if (scenario.parallel && slows_passes(knobs)) {
    auto step = std::make_shared<ParallelStep>(*scenario.parallel);
    slow_passes(*step, knobs);
    scenario.parallel = std::move(step);
    computes = true;  // the stages again
  }
  if (!computes) return;
  if (scenario.is_timed_by_law()) {
    set_software(scenario, slowed(scenario.software(), knobs));
  } else {
    scenario.trace = std::make_shared<const LayerTrace>(rescale_trace(*scenario.trace, knobs.compute));
    retime_plan(scenario);
  }
}

}  // namespace ddpsim
