#pragma once
// Scenarios built in code, and one call that simulates them.
#include <cmath>
#include <string>
#include <vector>

#include "sim/study/run_all.hpp"

#include "tests/engine/clusters.hpp"

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

// One group of all ranks, not connected yet.
inline Scenario base_scenario(LayerTrace trace, Reducer reducer, const DdpOptions& options, int ranks) {
  Scenario scenario;
  scenario.trace = std::make_shared<const LayerTrace>(std::move(trace));
  scenario.world_size = ranks;
  scenario.groups = {{ranks, {{0, ranks, 1.0}}, Seconds(0)}};
  scenario.ddp = options;
  scenario.plan = make_reduction_plan(*scenario.trace, reducer, options);
  return scenario;
}

// The links are the order of the ranks: no search.
inline CollectiveOptions in_rank_order(Algorithm algorithm, int channels = 1) {
  return {algorithm, channels, false};
}

// `groups` hold GPUs; the scenario's groups of ranks must be as many.
inline void connect(Scenario& scenario, std::shared_ptr<const Cluster> cluster,
                    const CollectiveOptions& options, std::vector<std::vector<int>> groups,
                    std::vector<BackgroundFlow> background = {}) {
  auto communication = std::make_shared<Communication>();
  communication->cluster = std::move(cluster);
  communication->options = options;
  communication->groups = std::move(groups);
  communication->background = std::move(background);
  for (std::size_t g = 0; g < communication->groups.size(); ++g) {
    communication->labels.push_back(static_cast<int>(g));
    for (std::size_t h = 0; h < g; ++h)
      if (scenario.groups[h].offset == scenario.groups[g].offset &&
          scenario.groups[h].slowest_class().slowdown == scenario.groups[g].slowest_class().slowdown)
        communication->labels[g] = communication->labels[h];
  }
  fold_traffic(*communication);
  scenario.communication = std::move(communication);
}

inline std::vector<int> all_gpus(const Cluster& cluster) {
  std::vector<int> gpus(static_cast<std::size_t>(cluster.gpus()));
  std::iota(gpus.begin(), gpus.end(), 0);
  return gpus;
}

inline Scenario make_scenario(LayerTrace trace, const std::vector<RingLink>& links, Reducer reducer,
                              const DdpOptions& options) {
  auto cluster = ring_cluster(links);
  auto scenario = base_scenario(std::move(trace), reducer, options, cluster->gpus());
  connect(scenario, cluster, in_rank_order(Algorithm::ring), {all_gpus(*cluster)});
  return scenario;
}

inline DdpOptions cap(Bytes bytes) {
  DdpOptions options;
  options.bucket_cap = bytes;
  return options;
}

inline Timeline closed_form(Scenario scenario) {
  scenario.fidelity = Fidelity::closed_form;
  return Simulator()(scenario).timeline;
}

inline std::vector<Timeline> simulate(const std::vector<Scenario>& scenarios, unsigned jobs = 1) {
  std::vector<Timeline> timelines;
  run_all(scenarios, jobs,
          [&](std::size_t, Prediction one) { timelines.push_back(std::move(one.timeline)); });
  return timelines;
}

inline Timeline simulate(Scenario scenario, Fidelity fidelity) {
  scenario.fidelity = fidelity;
  return simulate(std::vector{std::move(scenario)}).front();
}

}  // namespace ddpsim::testing
