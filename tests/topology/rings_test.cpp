// Ring search.
#include "sim/topology/rings.hpp"

#include <algorithm>
#include <map>
#include <set>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/text/topology_file.hpp"

#include "tests/topology/clusters.hpp"

namespace ddpsim {
namespace {

using testing::all_gpus;
using testing::build_text;
using ::testing::ElementsAre;
using Rings = std::vector<std::vector<int>>;

Rings rings_of(const Cluster& cluster, std::optional<int> channels = std::nullopt) {
  return find_rings(cluster, all_gpus(cluster), channels);
}

// What each ring gets if all run at once: the narrowest of the links' shares.
double share(const Cluster& cluster, const Rings& rings) {
  std::map<int, int> uses;
  for (const auto& ring : rings)
    for (std::size_t i = 0; i < ring.size(); ++i)
      for (int link : cluster.route(ring[i], ring[(i + 1) % ring.size()]).links) ++uses[link];
  double narrowest = 1e300;
  for (const auto& [link, count] : uses)
    narrowest = std::min(narrowest, cluster.link(link).bandwidth.value() / count);
  return narrowest;
}

void expect_cycles(const Rings& rings, int gpus) {
  for (auto ring : rings) {
    std::sort(ring.begin(), ring.end());
    ASSERT_EQ(static_cast<int>(ring.size()), gpus);
    for (int i = 0; i < gpus; ++i) EXPECT_EQ(ring[static_cast<std::size_t>(i)], i);
  }
}

std::shared_ptr<const Cluster> file(const std::string& name, int gpus) {
  return read_topology(testing::file_path(name))->build(gpus);
}

TEST(Rings, OfAFileOfKindRing) {
  auto cluster = file("ring-100gbps.yaml", 4);
  EXPECT_THAT(rings_of(*cluster), ElementsAre(ElementsAre(0, 1, 2, 3)));
  EXPECT_THAT(rings_of(*cluster, 2), ElementsAre(ElementsAre(0, 1, 2, 3), ElementsAre(0, 1, 2, 3)));
}

// Every order is as good under a switch: the one given; a second ring would share its links.
TEST(Rings, UnderASwitch) {
  auto cluster = file("dgx-a100.yaml", 8);
  EXPECT_THAT(rings_of(*cluster), ElementsAre(ElementsAre(0, 1, 2, 3, 4, 5, 6, 7)));
  EXPECT_EQ(rings_of(*cluster, 3).size(), 3U);
}

// Each GPU has 7 links out: 7 rings that share none, which is every link of the node.
TEST(Rings, FullyConnectedGivesALinkToEach) {
  auto cluster = file("two-level-test.yaml", 8);
  auto rings = rings_of(*cluster);
  EXPECT_EQ(rings.size(), 7U);
  expect_cycles(rings, 8);
  EXPECT_DOUBLE_EQ(share(*cluster, rings), 200e9);
}

// A GPU of the hybrid cube mesh has 6 NVLinks of 25 GB/s: 6 rings of 25 GB/s use all of them in both
// directions. The widest single ring runs over the pairs with two links:
// 0=3=2=1=5=6=7=4=0.
TEST(Rings, HybridCubeMesh) {
  auto cluster = file("dgx1-v100.yaml", 8);
  auto one = rings_of(*cluster, 1);
  EXPECT_THAT(one, ElementsAre(ElementsAre(0, 3, 2, 1, 5, 6, 7, 4)));
  EXPECT_DOUBLE_EQ(share(*cluster, one), 50e9);
  auto rings = rings_of(*cluster);
  EXPECT_EQ(rings.size(), 6U);
  expect_cycles(rings, 8);
  EXPECT_DOUBLE_EQ(share(*cluster, rings), 25e9);
  for (const auto& ring : rings)
    for (std::size_t i = 0; i < 8; ++i)
      EXPECT_EQ(cluster->route(ring[i], ring[(i + 1) % 8]).links.size(), 1U);
}

// 4 GPUs a socket: an order that crosses the sockets' link more than once each way would be narrower.
TEST(Rings, CrossesSocketsOnce) {
  auto cluster = file("pcie-8gpu.yaml", 8);
  std::vector<int> mixed{0, 4, 1, 5, 2, 6, 3, 7};
  auto rings = find_rings(*cluster, mixed, 1);
  ASSERT_EQ(rings.size(), 1U);
  std::vector<int> gpus;
  for (int index : rings[0]) gpus.push_back(mixed[static_cast<std::size_t>(index)]);
  EXPECT_THAT(gpus, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
}

// Channel c enters each node at GPU c and leaves it at the GPU before, which hands over to the NIC of GPU c.
TEST(Rings, AcrossNodesEachChannelHasItsRail) {
  for (const char* name : {"dgx-h100.yaml", "two-level-test.yaml", "fat-tree-3level.yaml"}) {
    auto cluster = file(name, 24);
    auto rings = rings_of(*cluster);
    ASSERT_EQ(rings.size(), 8U) << name;
    expect_cycles(rings, 24);
    EXPECT_EQ(rings[2][0], 2);
    EXPECT_EQ(rings[2][7], 1);
    EXPECT_EQ(rings[2][8], 8 + 2);
    auto nic = cluster->links_named("node0.nic2.out", {}).at(0);
    auto crossing = cluster->route(1, 10).links;
    bool same_nic = std::find(crossing.begin(), crossing.end(), nic) != crossing.end();
    EXPECT_EQ(same_nic, std::string(name) != "fat-tree-3level.yaml") << "any NIC reaches any in a fat tree";
  }
  auto cluster = file("dgx-h100.yaml", 24);
  EXPECT_DOUBLE_EQ(share(*cluster, rings_of(*cluster)), 50e9);
}

// Two GPUs share a NIC of 12.5 GB/s. One ring a NIC would be held up by the 12 GB/s of a GPU's PCIe link; two
// rings a NIC enter and leave at different GPUs and fill it: 8 x 6.25 GB/s.
TEST(Rings, SharedNics) {
  auto cluster = file("dgx1-v100.yaml", 16);
  auto rings = rings_of(*cluster);
  EXPECT_EQ(rings.size(), 8U);
  expect_cycles(rings, 16);
  EXPECT_DOUBLE_EQ(share(*cluster, rings), 6.25e9);
  auto four = rings_of(*cluster, 4);
  EXPECT_EQ(four.size(), 4U);
  EXPECT_DOUBLE_EQ(share(*cluster, four), 12e9);
}

// A ring that comes in by the one NIC and leaves by the other leaves the second ring no choice but the other
// way round. Rings that cannot be closed are not looked for: with room between the sockets their orders are
// too many, and the search gave up on two wide rings for 32 narrow ones.
TEST(Rings, TwoNicsGiveTwoRingsHoweverWideTheSockets) {
  for (double socket : {22, 38, 64}) {
    auto cluster = build_text(fmt::format("kind: cluster\n"
                                          "node:\n"
                                          "  gpus: 8\n"
                                          "  interconnect:\n"
                                          "    kind: pcie\n"
                                          "    bandwidth: 64GB/s\n"
                                          "    latency: 0.5us\n"
                                          "    gpus_per_switch: 4\n"
                                          "    switches_per_socket: 1\n"
                                          "    host: {{bandwidth: 64GB/s, latency: 0.5us}}\n"
                                          "    socket: {{bandwidth: {}GB/s, latency: 0.5us}}\n"
                                          "  nics: {{count: 2, bandwidth: 100Gbps, latency: 5us}}\n"
                                          "fabric: {{kind: fat_tree, nodes_per_leaf: 16}}\n",
                                          socket),
                              16);
    auto rings = rings_of(*cluster);
    EXPECT_EQ(rings.size(), 2U) << socket;
    EXPECT_EQ(share(*cluster, rings), 12.5e9) << socket;
  }
}

TEST(Rings, NodesInOrderOfTheirFirstGpu) {
  auto cluster = file("dgx-h100.yaml", 24);
  std::vector<int> gpus{17, 1, 16, 9, 8, 0};
  auto rings = find_rings(*cluster, gpus, 1);
  EXPECT_THAT(rings, ElementsAre(ElementsAre(2, 0, 5, 1, 4, 3)));  // 16 17, 0 1, 8 9
}

TEST(Rings, PartOfANode) {
  auto cluster = file("dgx-h100.yaml", 19);
  auto rings = rings_of(*cluster, 4);
  ASSERT_EQ(rings.size(), 4U);
  expect_cycles(rings, 19);
}

TEST(Rings, AroundASlowAndABrokenLink) {
  std::string text =
      "kind: cluster\n"
      "node: {gpus: 4, interconnect: {kind: fully_connected, bandwidth: 10GB/s, latency: 1us}}\n"
      "overrides: [{link: node0.gpu0>node0.gpu1, broken: true}, {link: node0.gpu0>node0.gpu2, bandwidth: "
      "1GB/s}]\n";
  auto rings = rings_of(*build_text(text, 4), 1);
  EXPECT_EQ(rings[0][0], 0);
  EXPECT_EQ(rings[0][1], 3);
}

// One slow NIC among many nodes: the ring passes it by, in one leaf (20 nodes) or where the way back to the
// first node leads over the spine (21). With seven rings for seven good NICs, none is slower.
TEST(Rings, AroundASlowNicBetweenNodes) {
  auto topology = read_topology(testing::file_path("dgx-a100.yaml"));
  for (const char* nic : {"node0.nic0", "node3.nic0", "node3.nic5"})
    for (int gpus : {64, 160, 168}) {
      LinkOverride slow;
      slow.link = nic;
      slow.bandwidth = BytesPerSecond(1e9);
      auto cluster = topology->build(gpus, {&slow, 1});
      EXPECT_EQ(share(*cluster, rings_of(*cluster, 1)), 25e9) << nic << ", " << gpus;
      EXPECT_GE(share(*cluster, rings_of(*cluster)), 12.5e9) << nic << ", " << gpus;
    }
}

TEST(Rings, NoRing) {
  auto path = build_text(
      "kind: graph\n"
      "gpus: [{name: g0}, {name: g1}, {name: g5}]\n"
      "links: [{between: [g0, g1], bandwidth: 1GB/s, latency: 1us}, "
      "{between: [g0, g5], bandwidth: 1GB/s, latency: 1us}]\n",
      3);
  EXPECT_EQ(testing::input_error([&] { rings_of(*path); }),
            "error: no ring leads through all GPUs: only g0 joins {g1}, {g5}\n"
            "hint: add links, or use another algorithm: GPUs do not forward for others");
}

// Two GPUs that join three others: each of the three would have to be entered from one and left to another of
// the two.
TEST(Rings, NoRingThroughATwoPointCut) {
  std::string links;
  for (const char* hub : {"h0", "h1"})
    for (const char* leaf : {"a", "b", "c"})
      links += std::string(links.empty() ? "" : ", ") + "{between: [" + hub + ", " + leaf +
               "], bandwidth: 1GB/s, latency: 1us}";
  auto star =
      build_text("kind: graph\ngpus: [{name: h0}, {name: h1}, {name: a}, {name: b}, {name: c}]\nlinks: [" +
                     links + "]\n",
                 5);
  EXPECT_EQ(testing::input_error([&] { rings_of(*star); }),
            "error: no ring leads through all GPUs: only h0, h1 join {a}, {b}, {c}\n"
            "hint: add links, or use another algorithm: GPUs do not forward for others");
}

TEST(Rings, NoRingBetweenNodes) {
  auto rails = build_text(
      "kind: cluster\n"
      "node: {gpus: 1, nics: {count: 1, bandwidth: 1GB/s, latency: 1us}}\n"
      "fabric: {kind: rail_optimized, nodes_per_leaf: 1, spine: false}\n",
      2);
  EXPECT_EQ(testing::input_error([&] { rings_of(*rails); }),
            "error: no link leads from node0.gpu0 to node1.gpu0\n"
            "hint: GPUs do not forward for others: both need a direct link or a common switch");
}

// More than 16 GPUs a node: a switch takes any order at once.
TEST(Rings, LargeNodes) {
  auto cluster = build_text(
      "kind: cluster\nnode: {gpus: 72, interconnect: {kind: nvswitch, bandwidth: 900GB/s, latency: 1us}}\n",
      72);
  auto rings = rings_of(*cluster);
  ASSERT_EQ(rings.size(), 1U);
  EXPECT_EQ(rings[0], all_gpus(*cluster));
}

}  // namespace
}  // namespace ddpsim
