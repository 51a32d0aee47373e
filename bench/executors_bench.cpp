// How long each executor takes to simulate all-reduces of 25 MiB on a ring (5 us and 12.5 GB/s a hop): one,
// and the 125 of a gpt2-large backward pass. Every run includes the process it is given (run_all), about a
// millisecond.
#include <cmath>
#include <string>

#include <benchmark/benchmark.h>

#include "sim/engine/closed_form/closed_form.hpp"
#include "sim/engine/run_all.hpp"
#include "sim/engine/simgrid/simgrid_simulator.hpp"

namespace {

using namespace ddpsim;

constexpr int kGradientElements = 25 * 1024 * 1024 / 4;

// `buckets` gradients of 25 MiB over a backward pass of 216 ms.
LayerTrace make_trace(int buckets) {
  LayerTrace trace;
  for (int k = 0; k < buckets; ++k) {
    Gradient gradient;
    gradient.name = "g" + std::to_string(k);
    gradient.elements = kGradientElements;
    gradient.ready = Seconds(6e-3 * std::ceil(36.0 * (k + 1) / buckets));
    trace.gradients.push_back(gradient);
    trace.registration_order.insert(trace.registration_order.begin(), static_cast<std::size_t>(k));
  }
  return trace;
}

Scenario make_scenario(Fidelity fidelity, int ranks, int buckets) {
  Scenario scenario;
  scenario.trace = std::make_shared<const LayerTrace>(make_trace(buckets));
  scenario.world_size = ranks;
  scenario.rank_classes = {{0, ranks, 1.0}};
  scenario.ddp.bucket_cap = Bytes(4.0 * kGradientElements);
  scenario.plan = make_reduction_plan(*scenario.trace, Strategy::ddp, scenario.ddp);
  scenario.topology = std::make_shared<const Topology>(Link{BytesPerSecond(12.5e9), Seconds(5e-6)},
                                                       std::vector<Topology::Override>{});
  scenario.fidelity = fidelity;
  return scenario;
}

void simulate(benchmark::State& state, Fidelity fidelity) {
  auto scenario = make_scenario(fidelity, static_cast<int>(state.range(0)), static_cast<int>(state.range(1)));
  ClosedFormSimulator closed_form;
  SimGridSimulator simgrid;
  for (auto _ : state)
    run_all(
        {&scenario, 1}, 1,
        [&](const Scenario&) -> Simulator& {
          if (fidelity == Fidelity::closed_form) return closed_form;
          return simgrid;
        },
        [](std::size_t, const Timeline& timeline) {
          benchmark::DoNotOptimize(timeline.rank_classes.size());
        });
}

void add(Fidelity fidelity, const std::vector<std::pair<int, int>>& ranks_and_buckets) {
  auto* bench =
      benchmark::RegisterBenchmark(std::string(fidelity_name(fidelity)).c_str(),
                                   [fidelity](benchmark::State& state) { simulate(state, fidelity); });
  for (auto [ranks, buckets] : ranks_and_buckets) bench->Args({ranks, buckets});
  bench->ArgNames({"ranks", "buckets"})->UseRealTime()->Unit(benchmark::kMillisecond);
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::pair<int, int>> all{{8, 1},   {64, 1},   {256, 1},   {1024, 1},
                                       {8, 125}, {64, 125}, {256, 125}, {1024, 125}};
  std::vector<std::pair<int, int>> huge = all;
  huge.emplace_back(65536, 125);
  add(Fidelity::closed_form, huge);
  add(Fidelity::fluid, huge);
  add(Fidelity::folded, all);
  // Flow by flow, 1024 ranks take ten seconds an all-reduce, and 256 ranks x 125 buckets about half a minute.
  add(Fidelity::exact, {{8, 1}, {64, 1}, {256, 1}, {1024, 1}, {8, 125}, {64, 125}, {256, 125}});
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
