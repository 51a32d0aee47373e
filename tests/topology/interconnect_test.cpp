// Routes inside a node, for each interconnect. A route's latency is the sum of its links', its bandwidth that
// of the narrowest.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/topology/clusters.hpp"

namespace ddpsim {
namespace {

using testing::build_text;
using ::testing::ElementsAre;
using testing::expect_figures;
using testing::way;

std::shared_ptr<const Cluster> node(int gpus, const std::string& interconnect) {
  auto count = std::to_string(gpus);
  return build_text("kind: cluster\nnode: {gpus: " + count + ", interconnect: " + interconnect + "}\n", gpus);
}

// Up to the switch and down again, half of the latency each.
TEST(Interconnect, Nvswitch) {
  auto cluster = node(8, "{kind: nvswitch, bandwidth: 300GB/s, latency: 1us}");
  EXPECT_EQ(cluster->links(), 16);
  EXPECT_EQ(cluster->gpu_name(5), "node0.gpu5");
  EXPECT_THAT(way(*cluster, 2, 5), ElementsAre("node0.gpu2>node0.nvswitch", "node0.nvswitch>node0.gpu5"));
  expect_figures(cluster->route(2, 5), 300e9, 1e-6);
  EXPECT_FALSE(cluster->to_switch(2));
}

TEST(Interconnect, ASwitchThatMulticasts) {
  auto cluster = node(8, "{kind: nvswitch, bandwidth: 450GB/s, latency: 1us, multicast: true}");
  expect_figures(cluster->to_switch(3).value(), 450e9, 0.5e-6);
  EXPECT_EQ(cluster->link_name(cluster->to_switch(3)->links.at(0)), "node0.gpu3>node0.nvswitch");
  EXPECT_EQ(cluster->link_name(cluster->from_switch(3)->links.at(0)), "node0.nvswitch>node0.gpu3");
}

TEST(Interconnect, FullyConnected) {
  auto cluster = node(4, "{kind: fully_connected, bandwidth: 200GB/s, latency: 0.5us}");
  EXPECT_EQ(cluster->links(), 4 * 3);
  EXPECT_THAT(way(*cluster, 3, 1), ElementsAre("node0.gpu3>node0.gpu1"));
  expect_figures(cluster->route(3, 1), 200e9, 0.5e-6);
}

TEST(Interconnect, Ring) {
  auto cluster = node(4, "{kind: ring, bandwidth: 50GB/s, latency: 2us}");
  EXPECT_EQ(cluster->links(), 8);
  EXPECT_THAT(way(*cluster, 3, 0), ElementsAre("node0.gpu3>node0.gpu0"));
  EXPECT_THAT(way(*cluster, 0, 3), ElementsAre("node0.gpu0>node0.gpu3"));
  EXPECT_FALSE(cluster->find_route(0, 2));
  EXPECT_EQ(node(2, "{kind: ring, bandwidth: 50GB/s, latency: 2us}")->links(), 2);
}

constexpr const char* kMesh =
    "{kind: nvlink_mesh, bandwidth: 25GB/s, latency: 1us, links: [{between: [0, 1], count: 2}, "
    "{between: [1, 2]}, {between: [2, 3]}]";

// Two links in parallel are one of twice the bandwidth.
TEST(Interconnect, NvlinkMesh) {
  auto cluster = node(4, std::string(kMesh) + "}");
  EXPECT_EQ(cluster->links(), 6);
  expect_figures(cluster->route(0, 1), 50e9, 1e-6);
  expect_figures(cluster->route(2, 1), 25e9, 1e-6);
  EXPECT_FALSE(cluster->find_route(0, 2));
}

// Pairs without NVLink take PCIe: 0 to 2 up two links to the host bridge and down two, 12 GB/s, 4 x 0.5 us.
TEST(Interconnect, PcieBelowAMesh) {
  auto cluster = node(4, std::string(kMesh) +
                             ", pcie: {bandwidth: 16GB/s, latency: 0.5us, gpus_per_switch: 2, "
                             "host: {bandwidth: 12GB/s, latency: 0.5us}}}");
  EXPECT_THAT(way(*cluster, 0, 1), ElementsAre("node0.gpu0>node0.gpu1"));
  EXPECT_THAT(way(*cluster, 0, 2), ElementsAre("node0.gpu0>node0.pcie0", "node0.pcie0>node0.host0",
                                               "node0.host0>node0.pcie1", "node0.pcie1>node0.gpu2"));
  expect_figures(cluster->route(0, 2), 12e9, 2e-6);
}

// 8 GPUs, 2 a switch, 2 switches a socket. Across sockets: gpu, switch, host bridge, host bridge, switch, gpu
// = 0.5 + 0.6 + 0.7 + 0.6 + 0.5 us.
TEST(Interconnect, Pcie) {
  auto cluster = node(8,
                      "{kind: pcie, bandwidth: 24GB/s, latency: 0.5us, gpus_per_switch: 2, "
                      "switches_per_socket: 2, host: {bandwidth: 20GB/s, latency: 0.6us}, "
                      "socket: {bandwidth: 10GB/s, latency: 0.7us}}");
  EXPECT_EQ(cluster->links(), 2 * (8 + 4 + 1));
  EXPECT_THAT(way(*cluster, 0, 1), ElementsAre("node0.gpu0>node0.pcie0", "node0.pcie0>node0.gpu1"));
  expect_figures(cluster->route(0, 1), 24e9, 1e-6);
  expect_figures(cluster->route(0, 3), 20e9, 2.2e-6);
  EXPECT_THAT(way(*cluster, 1, 6),
              ElementsAre("node0.gpu1>node0.pcie0", "node0.pcie0>node0.host0", "node0.host0>node0.host1",
                          "node0.host1>node0.pcie3", "node0.pcie3>node0.gpu6"));
  expect_figures(cluster->route(1, 6), 10e9, 2.9e-6);
}

TEST(Interconnect, OnePcieSwitchNeedsNoHostBridge) {
  auto cluster = node(4, "{kind: pcie, bandwidth: 24GB/s, latency: 0.5us}");
  EXPECT_EQ(cluster->links(), 8);
  EXPECT_THAT(way(*cluster, 3, 0), ElementsAre("node0.gpu3>node0.pcie0", "node0.pcie0>node0.gpu0"));
}

TEST(Interconnect, OneGpuANodeNeedsNone) {
  auto cluster = build_text(
      "kind: cluster\nnode: {gpus: 1, nics: {count: 1, bandwidth: 10GB/s, latency: 4us}}\n"
      "fabric: {kind: rail_optimized}\n",
      3);
  EXPECT_EQ(cluster->nodes(), 3);
  EXPECT_THAT(way(*cluster, 2, 0), ElementsAre("node2.nic0>rail0.leaf0", "rail0.leaf0>node0.nic0"));
  expect_figures(cluster->route(2, 0), 10e9, 4e-6);
}

}  // namespace
}  // namespace ddpsim
