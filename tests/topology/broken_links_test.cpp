// Overrides: slower links, broken links, the ways around them, and what is said when there is none.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/text/topology_file.hpp"

#include "tests/topology/clusters.hpp"

namespace ddpsim {
namespace {

using testing::build_text;
using ::testing::ElementsAre;
using testing::expect_figures;
using testing::way;

std::string rails(const std::string& overrides) {
  return "kind: cluster\n"
         "node:\n"
         "  gpus: 4\n"
         "  interconnect: {kind: nvswitch, bandwidth: 300GB/s, latency: 1us}\n"
         "  nics: {count: 4, bandwidth: 25GB/s, latency: 5us}\n"
         "fabric: {kind: rail_optimized}\n"
         "overrides: " +
         overrides + "\n";
}

// Error of one route.
std::string route_error(const std::string& text, int gpus, int from_gpu, int to_gpu) {
  testing::TemporaryFolder folder;
  auto cluster = read_topology(folder.write("t.yaml", text))->build(gpus);
  return folder.without_folder(testing::input_error([&] { (void)cluster->route(from_gpu, to_gpu); }));
}

TEST(Overrides, ASlowNic) {
  auto cluster = build_text(rails("[{link: node1.nic2, bandwidth: 10GB/s}]"), 12);
  expect_figures(cluster->route(2, 6), 10e9, 5e-6);
  expect_figures(cluster->route(6, 2), 10e9, 5e-6);
  expect_figures(cluster->route(2, 10), 25e9, 5e-6);
}

TEST(Overrides, OneDirectionOfANic) {
  auto cluster = build_text(rails("[{link: node1.nic2.in, bandwidth: 10GB/s, latency: 7us}]"), 12);
  expect_figures(cluster->route(2, 6), 10e9, 2.5e-6 + 7e-6);
  expect_figures(cluster->route(6, 2), 25e9, 5e-6);
}

TEST(Overrides, InsideANode) {
  auto cluster = build_text(rails("[{link: node0.gpu1-node0.nvswitch, bandwidth: 100GB/s}]"), 8);
  expect_figures(cluster->route(0, 1), 100e9, 1e-6);
  expect_figures(cluster->route(1, 2), 100e9, 1e-6);
  expect_figures(cluster->route(4, 5), 300e9, 1e-6);
}

// Equally short ways: the slow spine uplink makes the change of GPUs the wider one, and the other way round.
TEST(Overrides, TheWidestOfTheShortest) {
  auto slow_switch = build_text(rails("[{link: node0.gpu0>node0.nvswitch, bandwidth: 1GB/s}]"), 8);
  EXPECT_THAT(way(*slow_switch, 0, 5), ElementsAre("node0.nic0>rail0.leaf0", "rail0.leaf0>node1.nic0",
                                                   "node1.gpu0>node1.nvswitch", "node1.nvswitch>node1.gpu1"));
}

// GPU 0's NIC is broken: through the switch to GPU 1 and its NIC; the receiver changes GPUs again, or the
// spine leads to the right rail.
TEST(BrokenLinks, ABrokenNicIsReroutedOverAnotherGpu) {
  auto cluster = build_text(rails("[{link: node0.nic0, broken: true}]"), 8);
  EXPECT_THAT(way(*cluster, 0, 4), ElementsAre("node0.gpu0>node0.nvswitch", "node0.nvswitch>node0.gpu1",
                                               "node0.nic1>rail1.leaf0", "rail1.leaf0>node1.nic1",
                                               "node1.gpu1>node1.nvswitch", "node1.nvswitch>node1.gpu0"));
  expect_figures(cluster->route(0, 4), 25e9, 7e-6);
  EXPECT_THAT(way(*cluster, 1, 5), ElementsAre("node0.nic1>rail1.leaf0", "rail1.leaf0>node1.nic1"));
  EXPECT_EQ(cluster->like_node(0), 0);
  EXPECT_EQ(cluster->like_node(1), 1);
}

TEST(BrokenLinks, OneDirectionOnly) {
  auto cluster = build_text(rails("[{link: node0.nic0.out, broken: true}]"), 8);
  EXPECT_EQ(cluster->route(0, 4).links.size(), 6U);
  EXPECT_EQ(cluster->route(4, 0).links.size(), 2U);
}

TEST(BrokenLinks, NoWayLeftInsideANode) {
  EXPECT_EQ(
      route_error(rails("[{link: node0.gpu3>node0.nvswitch, broken: true}]"), 8, 3, 1),
      "t.yaml:7:20: error: no way from node0.gpu3 to node0.gpu1: link node0.gpu3>node0.nvswitch is broken\n"
      "  7 | overrides: [{link: node0.gpu3>node0.nvswitch, broken: true}]\n"
      "    |                    ^~~~~~~~~~~~~~~~~~~~~~~~~\n"
      "hint: no other links lead there; leave one of them whole");
}

TEST(BrokenLinks, NoWayLeftBetweenNodes) {
  std::string one_nic =
      "kind: cluster\n"
      "node: {gpus: 1, nics: {count: 1, bandwidth: 25GB/s, latency: 5us}}\n"
      "fabric: {kind: fat_tree, nodes_per_leaf: 1}\n"
      "overrides: [{link: leaf0>spine, broken: true}]\n";
  EXPECT_EQ(route_error(one_nic, 2, 0, 1),
            "t.yaml:4:20: error: no way from node0.gpu0 to node1.gpu0: link leaf0>spine is broken\n"
            "  4 | overrides: [{link: leaf0>spine, broken: true}]\n"
            "    |                    ^~~~~~~~~~~\n"
            "hint: no other links lead there; leave one of them whole");
}

TEST(BrokenLinks, ASwitchThatCannotBeReachedReducesNothing) {
  auto cluster = build_text(
      "kind: cluster\n"
      "node: {gpus: 2, interconnect: {kind: nvswitch, bandwidth: 1GB/s, latency: 1us, multicast: true}}\n"
      "overrides: [{link: node0.nvswitch>node0.gpu1, broken: true}]\n",
      2);
  EXPECT_TRUE(cluster->to_switch(1));
  EXPECT_FALSE(cluster->from_switch(1));
}

TEST(Overrides, TheScenarioChangesWhatTheFileSays) {
  LinkOverride scenario;
  scenario.link = "node0.nic0.out";
  scenario.bandwidth = BytesPerSecond(1e9);
  auto cluster = build_text(rails("[{link: node0.nic0, bandwidth: 10GB/s, latency: 8us}]"), 8, {scenario});
  expect_figures(cluster->route(0, 4), 1e9, 8e-6 + 2.5e-6);
  expect_figures(cluster->route(4, 0), 10e9, 8e-6 + 2.5e-6);
}

}  // namespace
}  // namespace ddpsim
