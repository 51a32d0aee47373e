// Names of links lead back to them.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/topology/clusters.hpp"

namespace ddpsim {
namespace {

using testing::build_text;
using ::testing::ElementsAre;
using testing::link_names;

std::string nodes(const std::string& fabric) {
  return "kind: cluster\n"
         "node:\n"
         "  gpus: 4\n"
         "  interconnect: {kind: pcie, bandwidth: 24GB/s, latency: 1us, gpus_per_switch: 1, "
         "switches_per_socket: 2,\n"
         "    host: {bandwidth: 20GB/s, latency: 1us}, socket: {bandwidth: 20GB/s, latency: 1us}}\n"
         "  nics: {count: 2, bandwidth: 25GB/s, latency: 5us}\n"
         "fabric: " +
         fabric + "\n";
}

TEST(Names, EveryLinkIsFoundByItsName) {
  for (const char* fabric :
       {"{kind: rail_optimized, nodes_per_leaf: 2}", "{kind: fat_tree, nodes_per_leaf: 2}",
        "{kind: fat_tree, levels: 3, nodes_per_leaf: 1, leaves_per_pod: 2}", "{kind: ring}"}) {
    auto cluster = build_text(nodes(fabric), 13);
    for (int link = 0; link < cluster->links(); ++link)
      EXPECT_THAT(cluster->links_named(cluster->link_name(link), {}), ElementsAre(link));
  }
}

TEST(Names, BothDirections) {
  auto cluster = build_text(nodes("{kind: rail_optimized, nodes_per_leaf: 2}"), 16);
  auto named = [&](const std::string& name) { return link_names(*cluster, cluster->links_named(name, {})); };
  EXPECT_THAT(named("node1.pcie2-node1.host1"),
              ElementsAre("node1.pcie2>node1.host1", "node1.host1>node1.pcie2"));
  EXPECT_THAT(named("rail1.leaf1-spine"), ElementsAre("rail1.leaf1>spine", "spine>rail1.leaf1"));
  EXPECT_THAT(named("node3.nic1"), ElementsAre("node3.nic1>rail1.leaf1", "rail1.leaf1>node3.nic1"));
  EXPECT_THAT(named("node3.nic1.out"), ElementsAre("node3.nic1>rail1.leaf1"));
  EXPECT_THAT(named("node3.nic1.in"), ElementsAre("rail1.leaf1>node3.nic1"));
}

TEST(Names, CablesOfARingOfNodes) {
  auto cluster = build_text(nodes("{kind: ring}"), 12);
  auto named = [&](const std::string& name) { return link_names(*cluster, cluster->links_named(name, {})); };
  EXPECT_THAT(named("node0.nic1"), ElementsAre("node0.nic1>node1.nic1", "node2.nic1>node0.nic1"));
  EXPECT_THAT(named("node1.nic1-node0.nic1"), ElementsAre("node0.nic1>node1.nic1"));
  EXPECT_EQ(testing::input_error([&] { (void)cluster->links_named("node1.nic1>node0.nic1", {}); }),
            "error: there is no link 'node1.nic1>node0.nic1'; did you mean 'node1.nic1'?\n"
            "hint: links are called like node0.gpu0>node0.pcie0, the cables of a NIC node0.nic0");
}

TEST(Names, WhatIsNoName) {
  auto cluster = build_text(nodes("{kind: ring}"), 4);
  for (const char* name :
       {"", ">", "-", "node0", "node0.gpu0", "node00.gpu0>node0.pcie0", "node0.gpu0>node0.gpu1",
        "node-1.nic0", "node0.nic0.up", "node99999999999.nic0", "spine", "node0.nic0"})
    EXPECT_THROW((void)cluster->links_named(name, {}), InputError) << name;
}

}  // namespace
}  // namespace ddpsim
