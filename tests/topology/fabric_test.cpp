// Routes between nodes, for each fabric.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/topology/clusters.hpp"

namespace ddpsim {
namespace {

using testing::build_text;
using ::testing::ElementsAre;
using testing::expect_figures;
using testing::way;

constexpr const char* kSwitchNode =
    "kind: cluster\n"
    "node:\n"
    "  gpus: 4\n"
    "  interconnect: {kind: nvswitch, bandwidth: 300GB/s, latency: 1us}\n"
    "  nics: {count: 4, bandwidth: 25GB/s, latency: 5us}\n";
constexpr const char* kPcieNode =
    "kind: cluster\n"
    "node:\n"
    "  gpus: 4\n"
    "  interconnect: {kind: pcie, bandwidth: 24GB/s, latency: 0.5us, gpus_per_switch: 2, "
    "host: {bandwidth: 20GB/s, latency: 0.5us}}\n"
    "  nics: {count: 2, bandwidth: 12.5GB/s, latency: 5us}\n";

std::shared_ptr<const Cluster> cluster(const std::string& fabric, int gpus, const char* node = kSwitchNode) {
  return build_text(std::string(node) + "fabric: " + fabric + "\n", gpus);
}

// NIC to NIC through one switch is 5 us; a NIC at its GPU costs nothing.
TEST(RailOptimized, ARailWithinALeaf) {
  auto rails = cluster("{kind: rail_optimized}", 16);
  EXPECT_EQ(rails->nodes(), 4);
  EXPECT_THAT(way(*rails, 2, 14), ElementsAre("node0.nic2>rail2.leaf0", "rail2.leaf0>node3.nic2"));
  expect_figures(rails->route(2, 14), 25e9, 5e-6);
}

// As short through the spine (4 links), but NCCL changes GPUs inside the sender's node.
TEST(RailOptimized, BetweenRailsTheSenderChangesGpus) {
  auto rails = cluster("{kind: rail_optimized}", 16);
  EXPECT_THAT(way(*rails, 0, 15), ElementsAre("node0.gpu0>node0.nvswitch", "node0.nvswitch>node0.gpu3",
                                              "node0.nic3>rail3.leaf0", "rail3.leaf0>node3.nic3"));
  expect_figures(rails->route(0, 15), 25e9, 6e-6);
}

// Leaves of 2 nodes: node 0 to node 2 climbs to the spine. An uplink carries 2 nodes x 25 GB/s / 4; each of
// the two switches after the first adds 0.3 us.
TEST(RailOptimized, BetweenLeaves) {
  auto rails = cluster("{kind: rail_optimized, nodes_per_leaf: 2, oversubscription: 4, latency: 0.3us}", 16);
  EXPECT_THAT(way(*rails, 1, 9), ElementsAre("node0.nic1>rail1.leaf0", "rail1.leaf0>spine",
                                             "spine>rail1.leaf1", "rail1.leaf1>node2.nic1"));
  expect_figures(rails->route(1, 9), 12.5e9, 5.6e-6);
  // Another rail is as far: no change of GPUs inside a node is needed.
  EXPECT_THAT(way(*rails, 1, 10), ElementsAre("node0.nic1>rail1.leaf0", "rail1.leaf0>spine",
                                              "spine>rail2.leaf1", "rail2.leaf1>node2.nic2"));
}

TEST(RailOptimized, WithoutASpine) {
  auto rails = cluster("{kind: rail_optimized, nodes_per_leaf: 2, spine: false}", 16);
  EXPECT_THAT(way(*rails, 1, 6), ElementsAre("node0.gpu1>node0.nvswitch", "node0.nvswitch>node0.gpu2",
                                             "node0.nic2>rail2.leaf0", "rail2.leaf0>node1.nic2"));
  EXPECT_EQ(testing::input_error([&] { (void)rails->route(0, 8); }),
            "error: no link leads from node0.gpu0 to node2.gpu0\n"
            "hint: GPUs do not forward for others: both need a direct link or a common switch");
}

// 3 GPUs share 2 NICs: by default GPUs 0 and 1 use NIC 0, GPU 2 NIC 1.
TEST(RailOptimized, Affinity) {
  std::string node =
      "kind: cluster\nnode: {gpus: 3, interconnect: {kind: fully_connected, bandwidth: 50GB/s, latency: "
      "1us}, "
      "nics: {count: 2, bandwidth: 10GB/s, latency: 4us";
  auto even = build_text(node + "}}\nfabric: {kind: rail_optimized}\n", 6);
  EXPECT_THAT(way(*even, 1, 3), ElementsAre("node0.nic0>rail0.leaf0", "rail0.leaf0>node1.nic0"));
  auto given = build_text(node + ", affinity: [1, 0, 1]}}\nfabric: {kind: rail_optimized}\n", 6);
  EXPECT_THAT(way(*given, 0, 5), ElementsAre("node0.nic1>rail1.leaf0", "rail1.leaf0>node1.nic1"));
}

// A leaf serves all NICs of its nodes, so that the NIC at hand reaches every other.
TEST(FatTree, TwoLevels) {
  auto tree = cluster("{kind: fat_tree, nodes_per_leaf: 2, oversubscription: 2}", 16);
  EXPECT_THAT(way(*tree, 0, 7), ElementsAre("node0.nic0>leaf0", "leaf0>node1.nic3"));
  EXPECT_THAT(way(*tree, 0, 15),
              ElementsAre("node0.nic0>leaf0", "leaf0>spine", "spine>leaf1", "leaf1>node3.nic3"));
  auto up = tree->links_named("leaf0>spine", {});
  EXPECT_DOUBLE_EQ(tree->link(up.at(0)).bandwidth.value(), 2 * 4 * 25e9 / 2);
}

// 8 nodes, one a leaf, 2 leaves a pod. A leaf's uplink: 4 x 25 GB/s; a pod's: 2 leaves' / 4 = 50 GB/s.
TEST(FatTree, ThreeLevels) {
  auto tree = cluster(
      "{kind: fat_tree, levels: 3, nodes_per_leaf: 1, leaves_per_pod: 2, oversubscription: [1, 4]}", 32);
  EXPECT_THAT(way(*tree, 0, 4),
              ElementsAre("node0.nic0>leaf0", "leaf0>pod0", "pod0>leaf1", "leaf1>node1.nic0"));
  EXPECT_THAT(way(*tree, 0, 31), ElementsAre("node0.nic0>leaf0", "leaf0>pod0", "pod0>spine", "spine>pod3",
                                             "pod3>leaf7", "leaf7>node7.nic3"));
  EXPECT_DOUBLE_EQ(tree->link(tree->links_named("leaf7>pod3", {}).at(0)).bandwidth.value(), 100e9);
  EXPECT_DOUBLE_EQ(tree->link(tree->links_named("spine>pod3", {}).at(0)).bandwidth.value(), 50e9);
}

// All of the NIC's latency is on the one cable.
TEST(FabricRing, EachRailIsARingOfNodes) {
  auto ring = cluster("{kind: ring}", 12);
  EXPECT_THAT(way(*ring, 1, 5), ElementsAre("node0.nic1>node1.nic1"));
  EXPECT_THAT(way(*ring, 9, 1), ElementsAre("node2.nic1>node0.nic1"));
  expect_figures(ring->route(1, 5), 25e9, 5e-6);
  EXPECT_THAT(way(*ring, 3, 4),
              ElementsAre("node0.gpu3>node0.nvswitch", "node0.nvswitch>node0.gpu0", "node0.nic0>node1.nic0"));
  EXPECT_FALSE(ring->find_route(0, 8)) << "no way leads through a third node, or against the ring";
}

// A cable of a ring of nodes is one of both nodes; they are like no other.
TEST(FabricRing, NodesWithAChangedCable) {
  LinkOverride slow;
  slow.link = "node1.nic0.out";
  slow.latency = Seconds(1);
  auto ring = build_text(std::string(kSwitchNode) + "fabric: {kind: ring}\n", 16, {slow});
  EXPECT_EQ(ring->like_node(1), 1);
  EXPECT_EQ(ring->like_node(2), 2);
  EXPECT_EQ(ring->like_node(3), 0);
}

// GPU 3 to GPU 0: PCIe from its switch to the NIC is shared and counted, the NIC hangs off the switch.
TEST(PcieNode, NicsHangOffSwitches) {
  auto tree = cluster("{kind: fat_tree, nodes_per_leaf: 4}", 8, kPcieNode);
  EXPECT_THAT(way(*tree, 3, 4), ElementsAre("node0.gpu3>node0.pcie1", "node0.nic1>leaf0", "leaf0>node1.nic0",
                                            "node1.pcie0>node1.gpu0"));
  expect_figures(tree->route(3, 4), 12.5e9, 0.5e-6 + 5e-6 + 0.5e-6);
}

TEST(PartOfANode, AnyNumberOfGpus) {
  auto rails = cluster("{kind: rail_optimized, spine: false}", 6);
  EXPECT_EQ(rails->nodes(), 2);
  EXPECT_EQ(rails->gpus(), 6);
  EXPECT_THAT(way(*rails, 3, 5), ElementsAre("node0.gpu3>node0.nvswitch", "node0.nvswitch>node0.gpu1",
                                             "node0.nic1>rail1.leaf0", "rail1.leaf0>node1.nic1"));
  // GPU 3 of the last node runs no rank and passes nothing on: the receiving node has no GPU at NIC 3.
  EXPECT_THAT(way(*rails, 5, 3), ElementsAre("node1.nic1>rail1.leaf0", "rail1.leaf0>node0.nic1",
                                             "node0.gpu1>node0.nvswitch", "node0.nvswitch>node0.gpu3"));
}

TEST(OtherNodes, HaveTheirOwnInside) {
  auto mixed = build_text(std::string(kSwitchNode) +
                              "fabric: {kind: rail_optimized}\n"
                              "other_nodes:\n"
                              "  - nodes: [1]\n"
                              "    node:\n"
                              "      gpus: 4\n"
                              "      interconnect: {kind: fully_connected, bandwidth: 50GB/s, latency: 1us}\n"
                              "      nics: {count: 2, bandwidth: 10GB/s, latency: 8us}\n",
                          12);
  EXPECT_THAT(way(*mixed, 4, 7), ElementsAre("node1.gpu0>node1.gpu3"));
  EXPECT_THAT(way(*mixed, 8, 9), ElementsAre("node2.gpu0>node2.nvswitch", "node2.nvswitch>node2.gpu1"));
  // Its GPU 3 uses NIC 1, the rail of GPU 1 elsewhere. Half of each NIC's latency: 2.5 + 4 us.
  EXPECT_THAT(way(*mixed, 1, 7), ElementsAre("node0.nic1>rail1.leaf0", "rail1.leaf0>node1.nic1"));
  expect_figures(mixed->route(1, 7), 10e9, 6.5e-6);
  EXPECT_EQ(mixed->like_node(2), 0);
  EXPECT_EQ(mixed->like_node(1), 1);
  for (int link = 0; link < mixed->links(); ++link)
    EXPECT_THAT(mixed->links_named(mixed->link_name(link), {}), ElementsAre(link));
}

}  // namespace
}  // namespace ddpsim
