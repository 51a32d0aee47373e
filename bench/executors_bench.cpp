// How long each executor takes to simulate all-reduces of 25 MiB, on a ring (5 us and 12.5 GB/s a hop) and
// hierarchically on nodes of 8 with a rail a GPU (topologies/two-level-test.yaml): one, and the 125 of a
// gpt2-large backward pass. Every run includes the process it is given (run_all), about a millisecond.
#include <cmath>
#include <numeric>
#include <string>

#include <benchmark/benchmark.h>

#include "sim/study/run_all.hpp"
#include "sim/text/topology_file.hpp"
#include "sim/topology/topology.hpp"

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

struct Network {
  std::string name, topology;
  Algorithm algorithm;
};
const Network kRing{"ring", "topologies/ring-100gbps.yaml", Algorithm::ring};
const Network kTwoLevel{"hierarchical", "topologies/two-level-test.yaml", Algorithm::hierarchical};

std::shared_ptr<const Communication> connect(const Network& network, int ranks) {
  auto communication = std::make_shared<Communication>();
  communication->cluster = read_topology(DDPSIM_SOURCE_DIR "/" + network.topology)->build(ranks);
  communication->options = {network.algorithm, 1, true};
  communication->groups.emplace_back(static_cast<std::size_t>(ranks));
  std::iota(communication->groups[0].begin(), communication->groups[0].end(), 0);
  communication->labels = {0};
  with_traffic(*communication, [&](const Traffic& traffic) { communication->folded = fold(traffic); });
  return communication;
}

Scenario make_scenario(const Network& network, Fidelity fidelity, int ranks, int buckets) {
  Scenario scenario;
  scenario.trace = std::make_shared<const LayerTrace>(make_trace(buckets));
  scenario.world_size = ranks;
  scenario.groups = {{ranks, {{0, ranks, 1.0}}, Seconds(0)}};
  scenario.ddp.bucket_cap = Bytes(4.0 * kGradientElements);
  scenario.plan = make_reduction_plan(*scenario.trace, Reducer::ddp, scenario.ddp);
  scenario.communication = connect(network, ranks);
  scenario.fidelity = fidelity;
  return scenario;
}

void simulate(benchmark::State& state, const Network& network, Fidelity fidelity) {
  auto scenario =
      make_scenario(network, fidelity, static_cast<int>(state.range(0)), static_cast<int>(state.range(1)));
  for (auto _ : state)
    run_all({&scenario, 1}, 1, [](std::size_t, const Prediction& prediction) {
      benchmark::DoNotOptimize(prediction.timeline.rank_classes.size());
    });
}

// Schedules are built and folded once a sweep, whatever its caps.
void build_and_fold(benchmark::State& state, const Network& network) {
  for (auto _ : state)
    benchmark::DoNotOptimize(connect(network, static_cast<int>(state.range(0)))->folded->links.size());
}

void add(const Network& network, Fidelity fidelity,
         const std::vector<std::pair<int, int>>& ranks_and_buckets) {
  auto name = network.name + "/" + std::string(fidelity_name(fidelity));
  auto* bench = benchmark::RegisterBenchmark(
      name.c_str(), [&network, fidelity](benchmark::State& state) { simulate(state, network, fidelity); });
  for (auto [ranks, buckets] : ranks_and_buckets) bench->Args({ranks, buckets});
  bench->ArgNames({"ranks", "buckets"})->UseRealTime()->Unit(benchmark::kMillisecond);
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::pair<int, int>> all{{64, 1},   {256, 1},   {1024, 1},
                                             {64, 125}, {256, 125}, {1024, 125}};
  std::vector<std::pair<int, int>> huge = all;
  huge.insert(huge.end(), {{16384, 125}, {65536, 125}});
  for (const auto* network : {&kRing, &kTwoLevel}) {
    for (auto fidelity : {Fidelity::closed_form, Fidelity::lazy, Fidelity::fluid})
      add(*network, fidelity, huge);
    add(*network, Fidelity::folded, all);
    auto* bench =
        benchmark::RegisterBenchmark((network->name + "/build and fold").c_str(),
                                     [network](benchmark::State& s) { build_and_fold(s, *network); });
    for (int ranks : {1024, 16384, 65536}) bench->Arg(ranks);
    bench->ArgName("ranks")->Unit(benchmark::kMillisecond);
  }
  // Flow by flow, 1024 ranks of a ring take ten seconds an all-reduce, and 256 ranks x 125 buckets about half
  // a minute.
  add(kRing, Fidelity::exact, {{64, 1}, {256, 1}, {64, 125}, {256, 125}});
  add(kTwoLevel, Fidelity::exact, {{64, 1}, {256, 1}, {64, 125}, {256, 125}});
  benchmark::Initialize(&argc, argv);
  benchmark::RunSpecifiedBenchmarks();
}
