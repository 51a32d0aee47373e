#pragma once
// Scenarios built in code, and one call that simulates them.
#include <cmath>
#include <string>
#include <vector>

#include "sim/engine/closed_form/closed_form.hpp"
#include "sim/engine/run_all.hpp"
#include "sim/engine/simgrid/simgrid_simulator.hpp"

namespace ddpsim::testing {

inline LayerTrace make_trace(const std::vector<double>& megabytes, const std::vector<double>& ready_ms) {
  LayerTrace trace;
  for (std::size_t i = 0; i < megabytes.size(); ++i) {
    Gradient gradient;
    gradient.name = "g" + std::to_string(i);
    gradient.elements = std::llround(megabytes[i] * 1e6 / 4);
    gradient.ready = Seconds(ready_ms[i] * 1e-3);
    trace.gradients.push_back(gradient);
    trace.registration_order.insert(trace.registration_order.begin(), i);
  }
  return trace;
}

// 125 gradients of 25 MiB, gradient k ready at 6 ms x ceil(36 (k+1) / 125).
inline LayerTrace trace_of_125() {
  LayerTrace trace;
  for (int k = 0; k < 125; ++k) {
    Gradient gradient;
    gradient.name = "g" + std::to_string(k);
    gradient.elements = 25 * 1024 * 1024 / 4;
    gradient.ready = Seconds(6e-3 * std::ceil(36.0 * (k + 1) / 125));
    trace.gradients.push_back(gradient);
    trace.registration_order.insert(trace.registration_order.begin(), static_cast<std::size_t>(k));
  }
  return trace;
}

struct RingLink {
  double latency_us = 5;
  double bandwidth_GBps = 12.5;
};

inline std::shared_ptr<const Topology> ring(const std::vector<RingLink>& links) {
  std::vector<Topology::Override> overrides;
  for (std::size_t i = 0; i < links.size(); ++i) {
    Link link{BytesPerSecond(links[i].bandwidth_GBps * 1e9), Seconds(links[i].latency_us * 1e-6)};
    overrides.push_back({static_cast<int>(i), link, {}});
  }
  return std::make_shared<const Topology>(overrides.front().link, overrides);
}

inline Scenario make_scenario(LayerTrace trace, const std::vector<RingLink>& links, Strategy strategy,
                              const DdpOptions& options) {
  Scenario scenario;
  scenario.trace = std::make_shared<const LayerTrace>(std::move(trace));
  scenario.world_size = static_cast<int>(links.size());
  scenario.rank_classes = {{0, scenario.world_size, 1.0}};
  scenario.ddp = options;
  scenario.plan = make_reduction_plan(*scenario.trace, strategy, options);
  scenario.topology = ring(links);
  return scenario;
}

inline DdpOptions cap(Bytes bytes) {
  DdpOptions options;
  options.bucket_cap = bytes;
  return options;
}

inline Simulator& simulator_for(const Scenario& scenario) {
  static ClosedFormSimulator closed_form;
  static SimGridSimulator simgrid;
  if (scenario.fidelity == Fidelity::closed_form) return closed_form;
  return simgrid;
}

inline std::vector<Timeline> simulate(const std::vector<Scenario>& scenarios, unsigned jobs = 1) {
  std::vector<Timeline> timelines;
  run_all(scenarios, jobs, simulator_for,
          [&](std::size_t, Timeline timeline) { timelines.push_back(std::move(timeline)); });
  return timelines;
}

inline Timeline simulate(Scenario scenario, Fidelity fidelity) {
  scenario.fidelity = fidelity;
  return simulate(std::vector{std::move(scenario)}).front();
}

}  // namespace ddpsim::testing
