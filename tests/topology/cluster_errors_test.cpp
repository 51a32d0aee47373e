// Ways in which a file of kind cluster can be wrong, with the whole message.
#include <gtest/gtest.h>

#include "tests/topology/clusters.hpp"

namespace ddpsim {
namespace {

using testing::topology_error;

std::string node_error(const std::string& node) {
  return topology_error("kind: cluster\nnode: " + node + "\n");
}
std::string interconnect_error(const std::string& interconnect) {
  return topology_error("kind: cluster\nnode:\n  gpus: 4\n  interconnect: " + interconnect + "\n");
}
constexpr const char* kNode =
    "kind: cluster\n"
    "node:\n"
    "  gpus: 2\n"
    "  interconnect: {kind: fully_connected, bandwidth: 1GB/s, latency: 1us}\n"
    "  nics: {count: 2, bandwidth: 1GB/s, latency: 1us}\n";
std::string fabric_error(const std::string& rest, int gpus = 4) {
  return topology_error(kNode + rest + "\n", gpus);
}

TEST(ClusterErrors, MissingParts) {
  EXPECT_EQ(topology_error("kind: cluster\n"),
            "t.yaml:1:1: error: 'topology' lacks the key 'node'\n"
            "  1 | kind: cluster\n"
            "    | ^\n"
            "hint: add 'node: ...'");
  EXPECT_EQ(node_error("{gpus: 2}"),
            "t.yaml:2:7: error: 'node' lacks the key 'interconnect'\n"
            "  2 | node: {gpus: 2}\n"
            "    |       ^\n"
            "hint: add 'interconnect: ...'");
  EXPECT_EQ(topology_error("kind: cluster\nnode: {gpus: 1}\nfabric: {kind: ring}\n"),
            "t.yaml:2:7: error: 'node' lacks the key 'nics': the fabric joins NICs\n"
            "  2 | node: {gpus: 1}\n"
            "    |       ^\n"
            "hint: add 'nics: {count: ..., bandwidth: ..., latency: ...}'");
}

TEST(ClusterErrors, Counts) {
  EXPECT_EQ(node_error("{gpus: 0}"),
            "t.yaml:2:14: error: 0 is out of range\n"
            "  2 | node: {gpus: 0}\n"
            "    |              ^\n"
            "hint: write a number from 1 to 128");
}

TEST(ClusterErrors, Interconnects) {
  EXPECT_EQ(interconnect_error("{kind: nvswich, bandwidth: 1GB/s, latency: 1us}"),
            "t.yaml:4:24: error: unknown value 'nvswich'; did you mean 'nvswitch'?\n"
            "  4 |   interconnect: {kind: nvswich, bandwidth: 1GB/s, latency: 1us}\n"
            "    |                        ^~~~~~~\n"
            "hint: one of nvswitch, fully_connected, ring, nvlink_mesh, pcie");
  EXPECT_EQ(interconnect_error("{kind: ring, bandwidth: 1GB/s, latency: 1us, multicast: true}"),
            "t.yaml:4:62: error: unknown key 'multicast'\n"
            "  4 |   interconnect: {kind: ring, bandwidth: 1GB/s, latency: 1us, multicast: true}\n"
            "    |                                                              ^~~~~~~~~\n"
            "hint: 'interconnect' knows kind, bandwidth, latency");
  EXPECT_EQ(interconnect_error("{kind: ring, bandwidth: 0GB/s, latency: 1us}"),
            "t.yaml:4:41: error: a bandwidth of zero carries nothing\n"
            "  4 |   interconnect: {kind: ring, bandwidth: 0GB/s, latency: 1us}\n"
            "    |                                         ^~~~~\n"
            "hint: remove the link, or give it a bandwidth");
}

TEST(ClusterErrors, PcieSwitchesThatNothingJoins) {
  EXPECT_EQ(interconnect_error("{kind: pcie, bandwidth: 1GB/s, latency: 1us, gpus_per_switch: 2}"),
            "t.yaml:4:17: error: 2 PCIe switches are joined by nothing\n"
            "  4 |   interconnect: {kind: pcie, bandwidth: 1GB/s, latency: 1us, gpus_per_switch: 2}\n"
            "    |                 ^\n"
            "hint: add 'host: {bandwidth: ..., latency: ...}', the links from switch to host bridge");
  EXPECT_EQ(interconnect_error("{kind: pcie, bandwidth: 1GB/s, latency: 1us, gpus_per_switch: 2, "
                               "switches_per_socket: 1, host: {bandwidth: 1GB/s, latency: 1us}}"),
            "t.yaml:4:17: error: 2 PCIe switches, 1 a socket: the sockets are joined by nothing\n"
            "  4 |   interconnect: {kind: pcie, bandwidth: 1GB/s, latency: 1us, gpus_per_switch: 2, "
            "switches_per_socket: 1, host: {bandwidth: 1GB/s, latency: 1us}}\n"
            "    |                 ^\n"
            "hint: add 'socket: {bandwidth: ..., latency: ...}', the links between host bridges");
}

std::string mesh_error(const std::string& links) {
  return interconnect_error("{kind: nvlink_mesh, bandwidth: 1GB/s, latency: 1us,\n    links: " + links + "}");
}

TEST(ClusterErrors, LinksOfAMesh) {
  EXPECT_EQ(mesh_error("[{between: [0, 4]}]"),
            "t.yaml:5:27: error: 4 is out of range\n"
            "  5 |     links: [{between: [0, 4]}]}\n"
            "    |                           ^\n"
            "hint: write a number from 0 to 3");
  EXPECT_EQ(mesh_error("[{between: [1, 1]}]"),
            "t.yaml:5:23: error: a link from GPU 1 to itself\n"
            "  5 |     links: [{between: [1, 1]}]}\n"
            "    |                       ^\n"
            "hint: name two GPUs");
  EXPECT_EQ(mesh_error("[{between: [0, 1, 2]}]"),
            "t.yaml:5:23: error: a link is between two GPUs, not 3\n"
            "  5 |     links: [{between: [0, 1, 2]}]}\n"
            "    |                       ^\n"
            "hint: write it like [0, 1]");
  EXPECT_EQ(mesh_error("[{between: [0, 1]}, {between: [1, 0]}]"),
            "t.yaml:5:32: error: the link between 1 and 0 is given twice\n"
            "  5 |     links: [{between: [0, 1]}, {between: [1, 0]}]}\n"
            "    |                                ^\n"
            "hint: several in parallel are one with 'count'");
  EXPECT_EQ(mesh_error("[{between: [0, 1]}, {between: [2, 3]}]"),
            "t.yaml:5:12: error: no links join GPU 2 to GPU 0\n"
            "  5 |     links: [{between: [0, 1]}, {between: [2, 3]}]}\n"
            "    |            ^\n"
            "hint: add links, or 'pcie: {...}' for the pairs without NVLink");
}

TEST(ClusterErrors, Affinity) {
  EXPECT_EQ(node_error("{gpus: 1, nics: {count: 2, bandwidth: 1GB/s, latency: 1us, affinity: [0, 1]}}"),
            "t.yaml:2:76: error: the NICs of 2 GPUs for a node of 1\n"
            "  2 | node: {gpus: 1, nics: {count: 2, bandwidth: 1GB/s, latency: 1us, affinity: [0, 1]}}\n"
            "    |                                                                            ^\n"
            "hint: give the NIC of each GPU, in order");
}

TEST(ClusterErrors, Fabrics) {
  EXPECT_EQ(fabric_error("fabric: {kind: rail_optimized, spine: false, oversubscription: 2}"),
            "t.yaml:6:64: error: without a spine no leaf has uplinks to oversubscribe\n"
            "  6 | fabric: {kind: rail_optimized, spine: false, oversubscription: 2}\n"
            "    |                                                                ^\n"
            "hint: remove 'oversubscription', or 'spine: false'");
  EXPECT_EQ(fabric_error("fabric: {kind: fat_tree}"),
            "t.yaml:6:9: error: 'fabric' lacks the key 'nodes_per_leaf'\n"
            "  6 | fabric: {kind: fat_tree}\n"
            "    |         ^\n"
            "hint: add 'nodes_per_leaf: ...'");
  EXPECT_EQ(fabric_error("fabric: {kind: fat_tree, nodes_per_leaf: 2, oversubscription: [1, 2]}"),
            "t.yaml:6:63: error: 2 oversubscriptions for 1 level of uplinks\n"
            "  6 | fabric: {kind: fat_tree, nodes_per_leaf: 2, oversubscription: [1, 2]}\n"
            "    |                                                               ^\n"
            "hint: give one number, or one for each level from the leaves up");
}

TEST(ClusterErrors, MoreThanANodeWithoutAFabric) {
  EXPECT_EQ(fabric_error(""),
            "error: 4 GPUs are more than one node of 2, and the topology has no fabric to join several\n"
            "hint: use at most 2, or add a 'fabric' to the topology");
}

std::string other_error(const std::string& fabric, const std::string& other) {
  return fabric_error("fabric: " + fabric + "\nother_nodes:\n  - {nodes: [1], node: " + other + "}");
}

TEST(ClusterErrors, OtherNodesThatDoNotFit) {
  EXPECT_EQ(other_error("{kind: ring}", "{gpus: 1, nics: {count: 2, bandwidth: 1GB/s, latency: 1us}}"),
            "t.yaml:8:24: error: a node of 1 GPU among nodes of 2: all have the same number\n"
            "  8 |   - {nodes: [1], node: {gpus: 1, nics: {count: 2, bandwidth: 1GB/s, latency: 1us}}}\n"
            "    |                        ^\n"
            "hint: write 'gpus: 2'");
  std::string one_nic =
      "{gpus: 2, interconnect: {kind: ring, bandwidth: 1GB/s, latency: 1us}, "
      "nics: {count: 1, bandwidth: 1GB/s, latency: 1us}}";
  EXPECT_EQ(other_error("{kind: ring}", one_nic),
            "t.yaml:8:24: error: a node of 1 NIC does not fit the fabric of nodes of 2\n"
            "  8 |   - {nodes: [1], node: " +
                one_nic +
                "}\n"
                "    |                        ^\n"
                "hint: each rail is a ring through all nodes");
  EXPECT_EQ(fabric_error(
                "fabric: {kind: ring}\nother_nodes:\n  - {nodes: [1, 1], node: {gpus: 2, interconnect: "
                "{kind: ring, bandwidth: 1GB/s, latency: 1us}, nics: {count: 2, bandwidth: 1GB/s, latency: "
                "1us}}}")
                .substr(0, 50),
            "t.yaml:8:17: error: node 1 is described twice\n  8 ");
}

}  // namespace
}  // namespace ddpsim
