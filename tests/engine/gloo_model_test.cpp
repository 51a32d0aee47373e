// Gloo on machines with GPUs: what the topology says of copies and the network, and that NCCL is faster.
#include "sim/cost/gloo_model.hpp"

#include <filesystem>
#include <numeric>

#include <gtest/gtest.h>

#include "sim/collective/time_alone.hpp"
#include "sim/text/topology_file.hpp"

#include "tests/engine/nccl_scenarios.hpp"
#include "tests/support/errors.hpp"

namespace ddpsim::testing {
namespace {

using namespace ddpsim::literals;

std::vector<int> first_gpus(int count) {
  std::vector<int> gpus(static_cast<std::size_t>(count));
  std::iota(gpus.begin(), gpus.end(), 0);
  return gpus;
}

std::optional<BytesPerSecond> copies(const std::string& name, const std::vector<int>& gpus) {
  return pcie_copy_bandwidth(*preset(name)->build(8), gpus);
}

// pcie-8gpu has 4 GPUs of 24 GB/s on a switch, and the switch 24 GB/s to its host.
TEST(GlooModel, CopiesShareThePcieTree) {
  EXPECT_EQ(copies("pcie-8gpu", {0}), 24_GBps);
  EXPECT_EQ(copies("pcie-8gpu", {0, 4}), 24_GBps);
  EXPECT_EQ(copies("pcie-8gpu", {0, 1}), 12_GBps);
  EXPECT_EQ(copies("pcie-8gpu", first_gpus(8)), 6_GBps);
  EXPECT_EQ(copies("pcie-8x4090", first_gpus(8)), 24_GBps);  // a root port each
}

// Beside NVLink there is PCIe in a DGX-1: 2 GPUs a switch of 12 GB/s.
TEST(GlooModel, CopiesDoNotUseNvlink) {
  EXPECT_EQ(copies("dgx1-v100", {0}), 12_GBps);
  EXPECT_EQ(copies("dgx1-v100", first_gpus(8)), 6_GBps);
  EXPECT_EQ(copies("dgx-h100", first_gpus(8)), std::nullopt);
  EXPECT_EQ(usual_copy_bandwidth(*preset("dgx-h100")), BytesPerSecond(46.8e9));
  EXPECT_EQ(usual_copy_bandwidth(*preset("dgx-a100")), 24_GBps);
}

// 2 nodes of a DGX H100: packed, one connection leaves each of them over 50 GB/s; every other rank on the
// other node, 8 do, and a machine has one interface for all.
TEST(GlooModel, AMachineHasOneInterface) {
  auto cluster = preset("dgx-h100")->build(16);
  auto packed = gloo_group(*cluster, first_gpus(16));
  EXPECT_EQ(packed.ranks, 16);
  EXPECT_EQ(packed.ranks_per_machine, 8);
  EXPECT_EQ(packed.network, 50_GBps);
  EXPECT_EQ(packed.network_latency, 5_us);
  std::vector<int> alternating;
  for (int gpu = 0; gpu < 8; ++gpu) alternating.insert(alternating.end(), {gpu, gpu + 8});
  EXPECT_EQ(gloo_group(*cluster, alternating).network, BytesPerSecond(6.25e9));
  auto alone = gloo_group(*cluster, first_gpus(8));
  EXPECT_EQ(alone.network, std::nullopt);
  EXPECT_EQ(alone.network_latency, Seconds(0));
}

TEST(GlooModel, ScaledLikeATable) {
  GlooModel model(gloo::CostModel(gloo::usual_host(), {4, 4, {}, {}, 24_GBps}));
  Seconds least = model.time(Bytes(0)), all = model.time(100_MiB);
  EXPECT_DOUBLE_EQ(least.value(), 6 * 100e-6);
  EXPECT_EQ(model.scaled({0, 1})->time(100_MiB), all - least);
  EXPECT_EQ(model.scaled({1, 0})->time(100_MiB), least);
}

Scenario read_case(const std::string& topology, int world_size, const std::string& collective,
                   const std::string& more = "") {
  TemporaryFolder folder;
  folder.write("trace.csv",
               "# ddpsim-trace: 1\ngradient,elements,dtype,ready_s\na,262144,float32,0.001\n"
               "b,26214400,float32,0.001\n");
  auto path =
      folder.write("scenario.yaml",
                   fmt::format("workload: {{trace: trace.csv}}\n"
                               "cluster: {{topology: {}, world_size: {}, gpu: none}}\ncollective: {{{}}}\n{}",
                               topology, world_size, collective, more));
  return resolve(Files(path), config::load_yaml(path, "a scenario"));
}

std::string preset_path(const std::string& name) {
  return std::string(DDPSIM_SOURCE_DIR) + "/topologies/" + name + ".yaml";
}

// Of notes on Gloo.
std::vector<std::string> codes(const Scenario& scenario) {
  std::vector<std::string> all;
  for (const auto& note : scenario.notes)
    if (note.code.starts_with("gloo-")) all.push_back(note.code);
  return all;
}

using Codes = std::vector<std::string>;

TEST(GlooModel, OnMachinesWithGpusItCopiesThroughTheHost) {
  auto scenario = read_case(preset_path("dgx-h100"), 8, "backend: gloo");
  ASSERT_TRUE(scenario.communication->library);
  EXPECT_EQ(scenario.algorithm(), "gloo");
  EXPECT_EQ(scenario.fidelity, Fidelity::closed_form);
  EXPECT_EQ(scenario.collective_workers, 2);
  EXPECT_EQ(codes(scenario), Codes{"gloo-estimated"});
  // 14 steps of 0.1 ms; 2 x 7/8 x 100 MiB = 183.5 MB, 4 % of it (32 of 800 MiB) at 3.68 and the rest at
  // 1.29 GB/s; half of it added at 12 GB/s; 2 x 104.9 MB at 46.8 GB/s.
  double sent = 1.75 * 104857600;
  EXPECT_NEAR(scenario.communication->library->time(100_MiB).value(),
              14e-4 + sent * (0.04 / 3.68e9 + 0.96 / 1.29e9 + 0.5 / 12e9) + 2 * 104857600 / 46.8e9, 1e-12);
}

// A testbed's links are the network that Gloo's processes use: what was validated there stays.
TEST(GlooModel, OnABareNetworkItIsAPlainRing) {
  auto scenario = read_case(preset_path("ring-1gbps"), 8, "backend: gloo");
  EXPECT_FALSE(scenario.communication->library);
  EXPECT_EQ(scenario.algorithm(), "ring");
  EXPECT_EQ(codes(scenario), Codes{"gloo-without-hosts"});
  TemporaryFolder folder;
  auto graph = folder.write("graph.yaml",
                            "kind: graph\ngpus: [{name: a, node: 0}, {name: b, node: 1}]\n"
                            "links: [{between: [a, b], bandwidth: 1GB/s, latency: 1us}]\n");
  EXPECT_FALSE(read_case(graph, 2, "backend: gloo").communication->library);
  auto pair = folder.write("pair.yaml",
                           "kind: graph\ngpus: [{name: a}, {name: b}]\n"
                           "links: [{between: [a, b], bandwidth: 1GB/s, latency: 1us}]\n");  // NVLink
  EXPECT_TRUE(read_case(pair, 2, "backend: gloo").communication->library);
}

TEST(GlooModel, WhatTheUserSays) {
  auto given = read_case(preset_path("dgx-h100"), 8,
                         "backend: gloo, gloo: {process_bandwidth: 2GB/s, reduction_bandwidth: 1e8GB/s, "
                         "copy_bandwidth: 10GB/s, step_latency: 1ms, machine_bandwidth: 8GB/s}");
  EXPECT_EQ(codes(given), Codes{});
  // 14 ms; 8 processes send 175 MB each at 8 GB/s together, 175 ms; copies take 20 ms.
  EXPECT_NEAR(given.communication->library->time(Bytes(100e6)).value(), 0.209, 1e-6);
  auto cached =
      read_case(preset_path("dgx-h100"), 2, "backend: gloo, gloo: {cached_bandwidth: 5GB/s, cache: 1GiB}");
  EXPECT_EQ(codes(cached), Codes{"gloo-estimated"});
  EXPECT_NEAR(cached.communication->library->time(Bytes(100e6)).value(),
              2e-4 + 0.1 / 5 + 0.05 / 12 + 0.2 / 46.8, 1e-9);
}

TEST(GlooModel, AnExplicitAlgorithmIsOverTheLinksAndSaysSo) {
  auto scenario = read_case(preset_path("dgx-h100"), 8, "backend: gloo, algorithm: ring");
  EXPECT_FALSE(scenario.communication->library);
  EXPECT_EQ(codes(scenario), Codes{"gloo-plain-schedule"});
}

// Two all-reduces launched at once: latencies pass side by side, what they transfer takes as long as one
// after the other.
TEST(GlooModel, TwoAtOnceShareTheirProcesses) {
  auto end = [&](const std::string& workers) {
    auto scenario =
        read_case(preset_path("dgx-h100"), 8, "backend: gloo, workers: " + workers, "strategy: overlap\n");
    auto timeline = closed_form(scenario);
    Seconds last;
    for (const auto& span : timeline.rank_classes.front().communication) last = std::max(last, span.end);
    return last;
  };
  auto model = read_case(preset_path("dgx-h100"), 8, "backend: gloo").communication->library;
  Seconds latency = model->time(Bytes(1));
  Seconds apart = model->time(1_MiB) + model->time(100_MiB);
  EXPECT_NEAR((end("1") - end("2")).value(), latency.value(), 1e-9);
  EXPECT_GT(end("1"), apart);
}

Seconds alone(const Scenario& scenario, Bytes bytes) {
  const auto& communication = *scenario.communication;
  if (communication.library) return communication.library->time(bytes);
  if (!communication.nccl.empty()) return communication.nccl.front()->choose(bytes).time;
  return CollectiveTime(communication.folded->groups.front().plan, communication.folded->links)(bytes);
}

// Everybody measures NCCL to be faster: on every preset, on 2 GPUs, a node and two nodes, from 1 MB up.
TEST(GlooModel, NcclIsFasterOnEveryPreset) {
  std::size_t compared = 0;
  for (const auto& entry :
       std::filesystem::directory_iterator(std::string(DDPSIM_SOURCE_DIR) + "/topologies")) {
    if (entry.path().extension() != ".yaml") continue;
    int node = read_topology(entry.path().string())->usual_size().value_or(8);
    for (int world_size : {2, node, 2 * node}) {
      auto nccl = read_case(entry.path().string(), world_size, "backend: nccl");
      auto gloo = read_case(entry.path().string(), world_size, "backend: gloo");
      for (Bytes bytes : {1_MiB, 16_MiB, 256_MiB, 1024_MiB}) {
        EXPECT_LE(alone(nccl, bytes), alone(gloo, bytes))
            << entry.path() << ' ' << world_size << ' ' << bytes.value();
        ++compared;
      }
    }
  }
  EXPECT_GE(compared, 25U * 12);
}

}  // namespace
}  // namespace ddpsim::testing
