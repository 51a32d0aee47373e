// What NCCL's tuner sees of the clusters under topologies/ and of odd groups on them. Bandwidths in GB/s.
#include "sim/cost/nccl_communicator.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/cost/nccl_notes.hpp"

#include "tests/engine/link_changes.hpp"
#include "tests/engine/nccl_scenarios.hpp"

namespace ddpsim::testing {
namespace {

using nccl::Communicator;
using nccl::Graph;

Communicator seen(const Topology& topology, int world_size, std::span<const LinkOverride> different = {}) {
  auto cluster = topology.build(world_size, different);
  return nccl_communicator(*cluster, all_gpus(*cluster), *topology.nccl);
}

// Of one rank in each of `nodes` nodes of eight GPUs: a tensor-parallel kind of group.
Communicator seen_by_every_eighth(const Topology& topology, int nodes) {
  auto cluster = topology.build(8 * nodes);
  std::vector<int> gpus;
  for (int node = 0; node < nodes; ++node) gpus.push_back(8 * node);
  return nccl_communicator(*cluster, gpus, *topology.nccl);
}

void expect_graph(const Graph& graph, const Graph& expected) {
  EXPECT_EQ(graph.channels, expected.channels);
  EXPECT_DOUBLE_EQ(graph.intra, expected.intra);
  EXPECT_DOUBLE_EQ(graph.inter, expected.inter);
}

// 12 NVLinks counted as 20 GB/s: 240. Six channels of 40 spend them, as eight of 30 do and no more; channels
// of 25 and faster are doubled, 12 of 20.
TEST(NcclCommunicator, ANodeOfA100s) {
  auto c = seen(*preset("dgx-a100"), 8);
  expect_graph(c.ring, {12, 20, 20});
  expect_graph(c.tree, {12, 20, 20});
  EXPECT_FALSE(c.nvls);
  EXPECT_TRUE(c.nvlink);
  EXPECT_EQ(c.gpu, nccl::Gpu::ampere);
  EXPECT_EQ(c.cpu, nccl::Cpu::amd);
  EXPECT_EQ(c.version, nccl::kNewestVersion);
  EXPECT_EQ(c.ranks, 8);
  EXPECT_EQ(c.nodes, 1);
  EXPECT_TRUE(c.same_channels);
  EXPECT_DOUBLE_EQ(c.nvlink_peak.value(), 300e9);  // the data sheet's, not NCCL's
}

// A ring a NIC of 25: 24 is the fastest speed that fits. In a node of eight a tree's chains use 7 of 8 hops:
// 7 channels of 30 are 210 of the 240, and 34 would be all.
TEST(NcclCommunicator, TwoNodesOfA100s) {
  auto c = seen(*preset("dgx-a100"), 16);
  expect_graph(c.ring, {8, 24, 24});
  expect_graph(c.tree, {8, 30, 24});
  EXPECT_EQ(c.ranks, 16);
  EXPECT_EQ(c.nodes, 2);
  EXPECT_FALSE(c.same_channels);  // each starts at its NIC
  EXPECT_DOUBLE_EQ(c.nvlink_peak.value(), 300e9);
}

// From three nodes on a tree's channels are the rings'.
TEST(NcclCommunicator, FourNodesOfA100s) {
  auto c = seen(*preset("dgx-a100"), 32);
  expect_graph(c.ring, {8, 24, 24});
  expect_graph(c.tree, {8, 24, 24});
}

// 18 NVLinks counted as 20.6: 370.8. Six channels of 60 are 360, doubled 12 of 30. NVLS: eight heads that
// send and get twice what the others do, so nine shares: 370.8/9 = 41.2 allows 40.
TEST(NcclCommunicator, ANodeOfH100s) {
  auto c = seen(*preset("dgx-h100"), 8);
  expect_graph(c.ring, {12, 30, 30});
  expect_graph(c.tree, {12, 30, 30});
  ASSERT_TRUE(c.nvls);
  expect_graph(*c.nvls, {8, 40, 60});
  EXPECT_DOUBLE_EQ(c.nvlink_peak.value(), 450e9);
}

// Eight rings leave a node through their last GPUs' own NICs, so that NVLink carries seven of the eight hops
// of each: of 370.8 there are 52.97 for one, more than a NIC's 50, so 48 (and no doubling: more than four
// channels below 50). NCCL 2.27.5 logs the same (h100_tuner_test.cpp).
TEST(NcclCommunicator, TwoNodesOfH100s) {
  auto c = seen(*preset("dgx-h100"), 16);
  expect_graph(c.ring, {8, 48, 48});
  expect_graph(c.tree, {8, 48, 48});
  ASSERT_TRUE(c.nvls);
  expect_graph(*c.nvls, {8, 40, 48});
}

TEST(NcclCommunicator, ASuperPodIsItsNodes) {
  auto pod = seen(*preset("superpod-h100"), 1024);
  expect_graph(pod.ring, {8, 48, 48});
  expect_graph(pod.tree, {8, 48, 48});
  ASSERT_TRUE(pod.nvls);
  expect_graph(*pod.nvls, {8, 40, 48});
  EXPECT_EQ(pod.nodes, 128);
}

// Six rings of one NVLink each, counted as 20 of its 25.
TEST(NcclCommunicator, AHybridCubeMesh) {
  auto c = seen(*preset("dgx1-v100"), 8);
  expect_graph(c.ring, {6, 20, 20});
  expect_graph(c.tree, {6, 20, 20});
  EXPECT_TRUE(c.nvlink);
  EXPECT_FALSE(c.same_channels);
  EXPECT_DOUBLE_EQ(c.nvlink_peak.value(), 150e9);
}

// One ring over the sockets' 22: one channel of 20. Nothing of it is NVLink.
TEST(NcclCommunicator, PcieIsNoNvlink) {
  auto c = seen(*preset("pcie-8gpu"), 8);
  expect_graph(c.ring, {1, 20, 20});
  EXPECT_FALSE(c.nvlink);
  EXPECT_DOUBLE_EQ(c.nvlink_peak.value(), 0);
}

// Two rings of a NIC of 12.5 each.
TEST(NcclCommunicator, PcieAcrossNodes) {
  auto c = seen(*preset("pcie-8gpu"), 16);
  expect_graph(c.ring, {2, 12, 12});
  EXPECT_FALSE(c.nvlink);
}

// One ring through each GPU's own NIC of 50: one channel of 48, doubled. A chain of one GPU has no hop: the
// tree's channels are as fast as twice the ring's between nodes. NVLS is for three GPUs a node and more.
TEST(NcclCommunicator, OneGpuANode) {
  auto two = seen_by_every_eighth(*preset("dgx-h100"), 2);
  EXPECT_EQ(two.ranks, 2);
  EXPECT_EQ(two.nodes, 2);
  expect_graph(two.ring, {2, 24, 24});
  expect_graph(two.tree, {2, 48, 24});
  EXPECT_FALSE(two.nvls);
  EXPECT_TRUE(two.nvlink);  // no hop within a node is anything else
  EXPECT_DOUBLE_EQ(two.nvlink_peak.value(), 0);
  auto four = seen_by_every_eighth(*preset("dgx-h100"), 4);
  expect_graph(four.ring, {2, 24, 24});
  expect_graph(four.tree, {2, 24, 24});
}

// One node has but four GPUs, and so four NICs to enter by. The NVLinks' peak is that of the full node.
TEST(NcclCommunicator, UnevenNodes) {
  auto c = seen(*preset("dgx-a100"), 12);
  EXPECT_EQ(c.ranks, 12);
  EXPECT_EQ(c.nodes, 2);
  expect_graph(c.ring, {4, 24, 24});
  expect_graph(c.tree, {4, 48, 24});  // 4 chains x 7/8 x 48 = 168 of the 240
  EXPECT_DOUBLE_EQ(c.nvlink_peak.value(), 300e9);
}

// Four of a node's eight GPUs still have 240 each.
TEST(NcclCommunicator, HalfANode) {
  auto c = seen(*preset("dgx-a100"), 4);
  expect_graph(c.ring, {12, 20, 20});
  EXPECT_DOUBLE_EQ(c.nvlink_peak.value(), 300e9);
}

// Two H100s: nobody to multicast to, said NCCL until 2.28.7.
TEST(NcclCommunicator, NvlsNeedsThreeGpusANode) {
  EXPECT_FALSE(seen(*preset("dgx-h100"), 2).nvls);
  EXPECT_TRUE(seen(*preset("dgx-h100"), 3).nvls);
  auto of_release = [](const std::string& version) {
    auto text = kH100s;
    text.replace(text.find("cpu: intel"), 10, "cpu: intel, version: '" + version + "'");
    return topology_of(text);
  };
  EXPECT_FALSE(seen(*of_release("2.28.3"), 2).nvls);
  EXPECT_TRUE(seen(*of_release("2.28.7"), 2).nvls);
}

// To NCCL 2.24 eight Blackwells are Hoppers: 18 NVLinks of 20.6. 2.25.1 counts 40 each:
// 720 are 8 x 90, doubled, and 9 x 80.
TEST(NcclCommunicator, BlackwellsBeforeAndAfterNcclKnewThem) {
  auto of_release = [](const std::string& version) {
    auto text = kH100s;
    text.replace(text.find("hopper"), 6, "blackwell");
    text.replace(text.find("450GB/s"), 7, "900GB/s");
    text.replace(text.find("cpu: intel"), 10, "cpu: intel, version: '" + version + "'");
    return topology_of(text);
  };
  auto before = seen(*of_release("2.24.3"), 8);
  expect_graph(before.ring, {12, 30, 30});
  ASSERT_TRUE(before.nvls);
  expect_graph(*before.nvls, {8, 40, 60});
  EXPECT_EQ(nccl_notes(before, {}, {}).size(), 1U);
  auto after = seen(*of_release("2.25.1"), 8);
  expect_graph(after.ring, {16, 45, 45});
  expect_graph(*after.nvls, {8, 80, 90});
  EXPECT_TRUE(nccl_notes(after, {}, {}).empty());
}

// GPUs of several hosts in one NVLink domain are a node of that size: 72 with 32 heads.
TEST(NcclCommunicator, ADomainOfSeveralHostsIsANode) {
  std::string text = kH100s;
  text.replace(text.find("gpus: 8"), 7, "gpus: 72");
  text.replace(text.find("450GB/s"), 7, "900GB/s");
  text.replace(text.find("hopper"), 6, "blackwell");
  auto c = seen(*topology_of(text), 72);
  EXPECT_EQ(c.nodes, 1);
  ASSERT_TRUE(c.nvls);
  expect_graph(*c.nvls, {32, 20, 40});
}

// Racks were measured by nobody whose figures the class has: a note, until tables calibrate all operations.
TEST(NcclCommunicator, RacksThatNobodyCalibrated) {
  auto rack = preset("gb200-nvl72");
  auto said = [&](int gpus, const nccl::Calibration& calibration) -> std::string {
    for (const auto& note : nccl_notes(seen(*rack, gpus), {}, calibration))
      if (note.code == "nccl-rack-unmeasured") return note.text;
    return "";
  };
  EXPECT_EQ(said(8, {}), "");
  EXPECT_THAT(said(72, {}), ::testing::HasSubstr("17 to 52 % slower"));
  EXPECT_THAT(said(144, {}), ::testing::HasSubstr("2 and 20 racks look like rings"));
  nccl::Calibration node, across;
  node.node.emplace_back();
  node.node[0].fitted_to = {
      {.table = "t", .ranks = 72, .smallest = Bytes(4096), .largest = Bytes(1073741824)}};
  across.entries.push_back({nccl::Algorithm::ring, true, {}});
  EXPECT_THAT(said(72, node), ::testing::HasSubstr("anything but all_reduce (4 KiB to 1 GiB) of NVLink"));
  for (auto operation : {Operation::all_gather, Operation::reduce_scatter, Operation::all_to_all})
    node.node.push_back({operation});
  EXPECT_EQ(said(72, node), "");
  node.node[3].fitted_to = {{.table = "t", .ranks = 8}};  // of no rack
  EXPECT_THAT(said(72, node), ::testing::HasSubstr("anything but all_reduce (4 KiB to 1 GiB), all_gather"));
  EXPECT_NE(said(72, across), "");
  EXPECT_EQ(said(144, across), "");
}

// A switch that does not reduce, and GPUs that cannot ask it to.
TEST(NcclCommunicator, NvlsNeedsTheSwitchAndTheGpu) {
  auto without = [](std::string text, const std::string& part, const std::string& instead) {
    text.replace(text.find(part), part.size(), instead);
    return topology_of(text);
  };
  EXPECT_TRUE(seen(*topology_of(kH100s), 8).nvls);
  EXPECT_FALSE(seen(*without(kH100s, ", multicast: true", ""), 8).nvls);
  EXPECT_FALSE(seen(*without(kH100s, "hopper", "ampere"), 8).nvls);
}

// One NIC at a tenth is left alone: seven rings are left, of 24 each (240/7 = 34 over NVLink).
TEST(NcclCommunicator, ADegradedNicLowersTheChannels) {
  std::vector<LinkOverride> slow{slower("node1.nic3", 2.5)};
  auto c = seen(*preset("dgx-a100"), 16, slow);
  expect_graph(c.ring, {7, 24, 24});
}

// All eight rings over 12.5: one channel each at 12, as many at 6 would be no more.
TEST(NcclCommunicator, DegradedNicsLowerTheSpeed) {
  std::vector<LinkOverride> slow;
  for (int nic = 0; nic < 8; ++nic) slow.push_back(slower(fmt::format("node0.nic{}", nic), 12.5));
  expect_graph(seen(*preset("dgx-a100"), 16, slow).ring, {8, 12, 12});
}

// Slower than any speed NCCL's search tries (3 GB/s within a node): one channel, counted as 0.1, which runs
// at what the link gives, 0.8 of 2 GB/s over NVLink.
TEST(NcclCommunicator, AHopelesslySlowLink) {
  std::vector<LinkOverride> slow{slower("node0.gpu3>node0.nvswitch", 2)};
  auto c = seen(*preset("dgx-a100"), 8, slow);
  expect_graph(c.ring, {1, 0.1, 0.1});
  EXPECT_FALSE(c.ring.found);
  EXPECT_NEAR(c.ring.intra * c.ring.gain, 1.6, 1e-12);
  EXPECT_FALSE(c.nvlink);  // tuning.cc: a graph without a path is of type SYS, counted as PCIe
  EXPECT_EQ(c.tree, c.ring);
}

// What the section does not say: the version in common use, no latency for the tuner, InfiniBand's for
// messages.
TEST(NcclCommunicator, WhatAPlatformSays) {
  struct Case {
    const char* section;
    double tuner_nic_latency, nic_latency;
    nccl::Version version;
  };
  for (const auto& [section, tuner_nic_latency, nic_latency, version] :
       {Case{"{gpu: ampere, cpu: amd}", 0, 3e-6, nccl::kNewestVersion},
        Case{"{gpu: hopper, cpu: amd, version: '2.23', memory_bandwidth: 3.35TB/s}", 0, 3e-6,
             nccl::Version{2, 23, 4}},
        Case{"{gpu: ampere, cpu: amd, tuner_nic_latency: 75us, nic_latency: 20us, version: '2.30.7'}", 75e-6,
             20e-6, nccl::Version{2, 30, 7}}}) {
    std::string text = kA100s.substr(0, kA100s.find("nccl:")) + "nccl: " + section + "\n";
    auto c = seen(*topology_of(text), 16);
    EXPECT_DOUBLE_EQ(c.tuner_nic_latency.value(), tuner_nic_latency) << section;
    EXPECT_DOUBLE_EQ(c.nic_latency.value(), nic_latency) << section;
    EXPECT_EQ(c.version, version) << section;
  }
}

}  // namespace
}  // namespace ddpsim::testing
