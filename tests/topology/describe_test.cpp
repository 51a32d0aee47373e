#include "sim/topology/describe.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/text/topology_file.hpp"

#include "tests/topology/clusters.hpp"

namespace ddpsim {
namespace {

using ::testing::HasSubstr;

std::shared_ptr<const Cluster> file(const std::string& name, int gpus) {
  return read_topology(testing::file_path(name))->build(gpus);
}

// What `nvidia-smi topo -m` prints on a DGX-1 with V100.
TEST(Describe, TableOfAHybridCubeMesh) {
  EXPECT_EQ(
      topology_table(*file("dgx1-v100.yaml", 8)),
      "            node0.gpu0  node0.gpu1  node0.gpu2  node0.gpu3  node0.gpu4  node0.gpu5  node0.gpu6  "
      "node0.gpu7\n"
      "node0.gpu0  X           NV1         NV1         NV2         NV2         SYS         SYS         SYS\n"
      "node0.gpu1  NV1         X           NV2         NV1         SYS         NV2         SYS         SYS\n"
      "node0.gpu2  NV1         NV2         X           NV2         SYS         SYS         NV1         SYS\n"
      "node0.gpu3  NV2         NV1         NV2         X           SYS         SYS         SYS         NV1\n"
      "node0.gpu4  NV2         SYS         SYS         SYS         X           NV1         NV1         NV2\n"
      "node0.gpu5  SYS         NV2         SYS         SYS         NV1         X           NV2         NV1\n"
      "node0.gpu6  SYS         SYS         NV1         SYS         NV1         NV2         X           NV2\n"
      "node0.gpu7  SYS         SYS         SYS         NV1         NV2         NV1         NV2         X\n");
}

TEST(Describe, LinkTypes) {
  auto pcie = testing::build_text(
      "kind: cluster\n"
      "node:\n"
      "  gpus: 8\n"
      "  interconnect: {kind: pcie, bandwidth: 24GB/s, latency: 1us, gpus_per_switch: 2, "
      "switches_per_socket: 2,\n"
      "    host: {bandwidth: 20GB/s, latency: 1us}, socket: {bandwidth: 20GB/s, latency: 1us}}\n"
      "  nics: {count: 2, bandwidth: 25GB/s, latency: 5us}\n"
      "fabric: {kind: rail_optimized}\n",
      16);
  EXPECT_EQ(link_type(*pcie, 0, 0), "X");
  EXPECT_EQ(link_type(*pcie, 0, 1), "PIX");
  EXPECT_EQ(link_type(*pcie, 0, 2), "PHB");
  EXPECT_EQ(link_type(*pcie, 0, 4), "SYS");
  EXPECT_EQ(link_type(*pcie, 0, 8), "NET");
  EXPECT_EQ(link_type(*file("dgx-a100.yaml", 8), 0, 1), "NV");
  EXPECT_EQ(link_type(*file("ring-100gbps.yaml", 4), 0, 2), "-");
}

// What a file says of its links counts, not what they join.
TEST(Describe, MediaOfAFile) {
  auto link = [](const std::string& ends, const std::string& medium) {
    return "  - {between: [" + ends + "], bandwidth: 1GB/s, latency: 1us, medium: " + medium + "}\n";
  };
  auto graph = testing::build_text(
      "kind: graph\n"
      "gpus: [{name: a}, {name: b}, {name: c}, {name: d}]\n"
      "switches: [{name: s}, {name: h0}, {name: h1}, {name: numa}, {name: other}]\nlinks:\n" +
          link("a, s", "pcie") + link("s, h0", "host_bridge") + link("b, h0", "host_bridge") +
          link("h0, numa", "numa_node") + link("h1, numa", "numa_node") + link("c, h1", "host_bridge") +
          link("numa, other", "socket") + link("d, other", "host_bridge"),
      4);
  EXPECT_EQ(link_type(*graph, 0, 1), "PHB");
  EXPECT_EQ(link_type(*graph, 0, 2), "NODE");
  EXPECT_EQ(link_type(*graph, 0, 3), "SYS");
  auto node = [](const std::string& interconnect) {
    return testing::build_text("kind: cluster\nnode: {gpus: 4, interconnect: " + interconnect + "}\n", 4);
  };
  EXPECT_EQ(link_type(*node("{kind: pcie, bandwidth: 1GB/s, latency: 1us, gpus_per_switch: 1, "
                            "host: {bandwidth: 1GB/s, latency: 1us, medium: numa_node}}"),
                      0, 1),
            "NODE");
  auto nvswitch = node("{kind: nvswitch, bandwidth: 25GB/s, count: 12, latency: 1us}");
  EXPECT_EQ(link_type(*nvswitch, 0, 1), "NV12");
  testing::expect_figures(nvswitch->route(0, 1), 300e9, 1e-6);
}

TEST(Describe, TablesOfLargeClustersShowTheFirstNode) {
  auto table = topology_table(*file("dgx-a100.yaml", 64));
  EXPECT_THAT(table, HasSubstr("(8 of 64 GPUs)\n"));
  EXPECT_EQ(table.find("node1"), std::string::npos);
  EXPECT_EQ(topology_table(*file("ring-100gbps.yaml", 3)),
            "      gpu0  gpu1  gpu2\n"
            "gpu0  X     NET   -\n"
            "gpu1  -     X     NET\n"
            "gpu2  NET   -     X\n");
}

TEST(Describe, Summary) {
  auto cluster = file("dgx-h100.yaml", 64);
  auto summary = summarize(*cluster);
  EXPECT_EQ(summary.gpus, 64);
  EXPECT_EQ(summary.nodes, 8);
  EXPECT_EQ(summary.links, 8 * (16 + 16) + 8 * 2);
  EXPECT_EQ(cluster->link_name(summary.narrowest_link), "node0.nic0>rail0.leaf0");
  EXPECT_EQ(cluster->link_name(summary.widest_link), "rail0.leaf0>spine");
  EXPECT_DOUBLE_EQ(summary.bisection.value(), 4 * 8 * 50e9);
  ASSERT_TRUE(summary.between_nodes);
  EXPECT_DOUBLE_EQ(summary.between_nodes->bandwidth.value(), 50e9);
  EXPECT_EQ(cluster->link_name(summary.bottleneck), "node0.nic0>rail0.leaf0");
  EXPECT_FALSE(summarize(*file("dgx-h100.yaml", 8)).between_nodes);
}

TEST(Dot, ABoxANode) {
  auto cluster = testing::build_text(
      "kind: cluster\n"
      "node: {gpus: 1, nics: {count: 1, bandwidth: 25GB/s, latency: 5us}}\n"
      "fabric: {kind: rail_optimized, spine: false}\n"
      "overrides: [{link: node1.nic0, broken: true}, {link: node0.nic0.out, bandwidth: 1GB/s}]\n",
      2);
  EXPECT_EQ(to_dot(*cluster),
            "digraph cluster {\n"
            "  compound=true;\n"
            "  \"rail0.leaf0\" [shape=ellipse];\n"
            "  subgraph cluster_node0 {\n"
            "    label=\"node0\";\n"
            "    \"node0.gpu0\" [shape=box];\n"
            "    \"node0.nic0\" [shape=component];\n"
            "  }\n"
            "  subgraph cluster_node1 {\n"
            "    label=\"node1\";\n"
            "    \"node1.gpu0\" [shape=box];\n"
            "    \"node1.nic0\" [shape=component];\n"
            "  }\n"
            "  \"node0.nic0\" -> \"node0.gpu0\" [style=dotted, dir=none];\n"
            "  \"node1.nic0\" -> \"node1.gpu0\" [style=dotted, dir=none];\n"
            "  \"node0.nic0\" -> \"rail0.leaf0\" [dir=forward, label=\"1 GB/s\"];\n"
            "  \"rail0.leaf0\" -> \"node0.nic0\" [dir=forward, label=\"25 GB/s\"];\n"
            "  \"node1.nic0\" -> \"rail0.leaf0\" [dir=both, label=\"25 GB/s\", style=dashed, color=red, "
            "fontcolor=red];\n"
            "}\n");
}

TEST(Dot, TooLargeToDraw) {
  for (int gpus : {2048, 65536})
    EXPECT_EQ(testing::input_error([&] { (void)to_dot(*file("dgx-h100.yaml", gpus)); }),
              "error: " + std::to_string(gpus) +
                  " GPUs are too many to draw: more than 4096 vertices\n"
                  "hint: draw a smaller cluster of the same topology");
}

}  // namespace
}  // namespace ddpsim
