#include "sim/topology/bisection.hpp"

#include <gtest/gtest.h>

#include "sim/text/topology_file.hpp"

#include "tests/topology/clusters.hpp"

namespace ddpsim {
namespace {

double bisection(const Cluster& cluster) {
  return bisection_bandwidth(cluster).value();
}
std::shared_ptr<const Cluster> file(const std::string& name, int gpus) {
  return read_topology(testing::file_path(name))->build(gpus);
}

// From the first half only one link leads into the second.
TEST(Bisection, OfARing) {
  EXPECT_DOUBLE_EQ(bisection(*file("ring-100gbps.yaml", 8)), 12.5e9);
}

// 4 GPUs send 300 GB/s each. One node does not use its NICs.
TEST(Bisection, UnderASwitch) {
  EXPECT_DOUBLE_EQ(bisection(*file("dgx-a100.yaml", 8)), 4 * 300e9);
  EXPECT_DOUBLE_EQ(bisection(*file("dgx-a100.yaml", 1)), 0);
}

// 4 x 4 links of 200 GB/s.
TEST(Bisection, FullyConnected) {
  EXPECT_DOUBLE_EQ(bisection(*file("two-level-test.yaml", 8)), 16 * 200e9);
}

// Hybrid cube mesh: 0=4, 1=5, 2-6, 3-7 are 6 x 25 GB/s, and the sockets' link 6 GB/s.
TEST(Bisection, HybridCubeMesh) {
  EXPECT_DOUBLE_EQ(bisection(*file("dgx1-v100.yaml", 8)), 6 * 25e9 + 6e9);
}

// One node's 8 NICs of 50 GB/s; above: all NICs of half of the nodes, or half of that below the narrow level.
TEST(Bisection, OfNodes) {
  EXPECT_DOUBLE_EQ(bisection(*file("dgx-h100.yaml", 16)), 8 * 50e9);
  EXPECT_DOUBLE_EQ(bisection(*file("dgx-h100.yaml", 1024)), 64 * 8 * 50e9);
  // 2 pods of 32 nodes: each pod's uplink has half of 32 x 8 x 50 GB/s.
  EXPECT_DOUBLE_EQ(bisection(*file("fat-tree-3level.yaml", 512)), 32 * 8 * 50e9 / 2);
}

// Each rail of a ring of nodes crosses the middle once.
TEST(Bisection, OfARingOfNodes) {
  EXPECT_DOUBLE_EQ(bisection(*file("two-level-test.yaml", 64)), 8 * 12.5e9);
  // The middle of 3 nodes is inside the second: 4 x 4 links there and the rails from the first to it.
  EXPECT_DOUBLE_EQ(bisection(*file("two-level-test.yaml", 24)), 16 * 200e9 + 4 * 12.5e9 + 4 * 12.5e9);
}

TEST(Bisection, BrokenLinksCarryNothing) {
  LinkOverride broken;
  broken.link = "node0.nic3";
  broken.broken = true;
  auto topology = read_topology(testing::file_path("dgx-h100.yaml"));
  EXPECT_DOUBLE_EQ(bisection(*topology->build(16, std::vector{broken})), 7 * 50e9);
}

// Merging nodes that are alike changes nothing.
TEST(Bisection, MergedNodesCarryAsMuch) {
  LinkOverride slow;
  slow.link = "node2.nic1";
  slow.bandwidth = BytesPerSecond(3e9);
  for (const char* name :
       {"dgx-a100.yaml", "dgx1-v100.yaml", "pcie-8gpu.yaml", "two-level-test.yaml", "fat-tree-3level.yaml"})
    for (int gpus : {3, 20, 37, 64, 100, 300}) {
      auto topology = read_topology(testing::file_path(name));
      auto cluster = gpus < 24 ? topology->build(gpus) : topology->build(gpus, std::vector{slow});
      EXPECT_DOUBLE_EQ(bisection(*cluster), unmerged_bisection_bandwidth(*cluster).value())
          << name << " " << gpus;
    }
}

TEST(Bisection, OfAGraph) {
  auto graph = testing::build_text(
      "kind: graph\n"
      "gpus: [{name: a, node: 0}, {name: b, node: 1}]\n"
      "switches: [{name: s}]\n"
      "links:\n"
      "  - {between: [a, s], bandwidth: 10GB/s, latency: 1us}\n"
      "  - {between: [b, s], bandwidth: 20GB/s, latency: 1us}\n"
      "  - {from: a, to: b, bandwidth: 5GB/s, latency: 1us}\n",
      2);
  EXPECT_DOUBLE_EQ(bisection(*graph), 15e9);
}

// A switch of a graph is in no node, but may stand between a node's GPU and its NIC.
TEST(Bisection, OfAGraphWithASwitchInANode) {
  auto graph = testing::build_text(
      "kind: graph\n"
      "gpus: [{name: a, node: 0}, {name: b, node: 1}]\n"
      "switches: [{name: s}]\n"
      "nics: [{name: n0, node: 0}, {name: n1, node: 1}]\n"
      "links:\n"
      "  - {between: [a, s], bandwidth: 24GB/s, latency: 500ns}\n"
      "  - {between: [s, n0], bandwidth: 24GB/s, latency: 500ns}\n"
      "  - {between: [b, n1], bandwidth: 24GB/s, latency: 500ns}\n"
      "  - {between: [n0, n1], bandwidth: 12GB/s, latency: 500ns}\n",
      2);
  EXPECT_DOUBLE_EQ(bisection(*graph), 12e9);
}

}  // namespace
}  // namespace ddpsim
