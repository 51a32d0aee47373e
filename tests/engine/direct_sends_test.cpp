// What the most loaded link of an all-to-all, a gather or a scatter takes, where nodes that are alike are
// counted once, against a walk over all pairs.
#include "sim/cost/direct_sends.hpp"

#include <numeric>

#include <gtest/gtest.h>

#include "sim/topology/scaled_links.hpp"

#include "tests/engine/link_changes.hpp"
#include "tests/engine/nccl_scenarios.hpp"
#include "tests/support/errors.hpp"

namespace ddpsim::testing {
namespace {

struct Walked {
  Seconds latency;
  double bound = 0;
};

Walked walk(const Cluster& cluster, const std::vector<int>& gpus, Operation operation) {
  Walked walked;
  std::vector<double> flows(static_cast<std::size_t>(cluster.links()));
  auto root = traits_of(operation).root;
  for (int from : gpus)
    for (int to : gpus) {
      bool is_sent = root == Root::none || (root == Root::from ? from : to) == gpus.front();
      if (from == to || !is_sent) continue;
      auto route = cluster.route(from, to);
      walked.latency = std::max(walked.latency, route.latency);
      for (int link : route.links) ++flows[static_cast<std::size_t>(link)];
    }
  for (std::size_t l = 0; l < flows.size(); ++l)
    if (flows[l] > 0)
      walked.bound = std::max(walked.bound, flows[l] / static_cast<double>(gpus.size()) /
                                                cluster.link(static_cast<int>(l)).bandwidth.value());
  return walked;
}

void expect_like_walk(const Cluster& cluster, const std::vector<int>& gpus) {
  for (auto operation : {Operation::all_to_all, Operation::gather, Operation::scatter}) {
    auto walked = walk(cluster, gpus, operation);
    DirectSends sends(cluster, gpus, operation);
    EXPECT_NEAR(sends.bounds().all / walked.bound, 1, 1e-12) << operation_name(operation);
    EXPECT_DOUBLE_EQ(sends.time(Bytes(0)).value(), walked.latency.value()) << operation_name(operation);
  }
}

std::vector<int> all_of(const Cluster& cluster) {
  std::vector<int> gpus(static_cast<std::size_t>(cluster.gpus()));
  std::iota(gpus.begin(), gpus.end(), 0);
  return gpus;
}

// Small leaves, so that there are several at these sizes; the last two with pods, of whole leaf groups and
// not.
std::vector<std::string> fabrics() {
  return {"{kind: rail_optimized, nodes_per_leaf: 4, latency: 0.3us}",
          "{kind: fat_tree, nodes_per_leaf: 3, oversubscription: [2], latency: 0.3us}",
          "{kind: fat_tree, levels: 3, nodes_per_leaf: 2, leaves_per_pod: 3, oversubscription: [1, 4]}",
          "{kind: fat_tree, levels: 3, nodes_per_leaf: 1, leaves_per_pod: 5, oversubscription: [2, 2]}"};
}
std::shared_ptr<const Topology> machine(const std::string& fabric, const std::string& more = "") {
  return topology_of(
      "kind: cluster\n"
      "node:\n"
      "  gpus: 4\n"
      "  interconnect: {kind: pcie, bandwidth: 25GB/s, latency: 0.5us, gpus_per_switch: 2,\n"
      "    switches_per_socket: 1, host: {bandwidth: 25GB/s, latency: 0.5us}, socket: {bandwidth: 40GB/s, "
      "latency: 1us}}\n"
      "  nics: {count: 2, bandwidth: 100Gbps, latency: 5us}\n"
      "fabric: " +
      fabric + "\n" + more);
}

TEST(DirectSends, OfEveryPresetAreThoseOfAllPairs) {
  for (const auto* name :
       {"superpod-h100", "superpod-a100", "dgx1-v100", "fat-tree-3level", "gb200-nvl72", "gh200-slingshot",
        "pcie-8gpu", "pcie-8xl40s", "pcie-8xrtxpro6000", "ndv4", "p4d", "p5", "dgx-b300"})
    for (int gpus : {16, 72, 100, 256}) {
      SCOPED_TRACE(fmt::format("{} x {}", name, gpus));
      auto topology = preset(name);
      if (topology->usual_size() == 72 && gpus % 72 != 0) continue;
      auto cluster = topology->build(gpus);
      expect_like_walk(*cluster, all_of(*cluster));
    }
}

TEST(DirectSends, OfSeveralLeavesAndPodsAreThoseOfAllPairs) {
  for (const auto& fabric : fabrics())
    for (int gpus : {16, 46, 60, 96}) {
      SCOPED_TRACE(fmt::format("{} x {}", fabric, gpus));
      auto cluster = machine(fabric)->build(gpus);
      expect_like_walk(*cluster, all_of(*cluster));
      expect_like_walk(*with_scaled_links(cluster, {0.5, 3}), all_of(*cluster));
    }
}

TEST(DirectSends, WithChangedLinksAreThoseOfAllPairs) {
  for (const auto& fabric : fabrics()) {
    SCOPED_TRACE(fabric);
    bool rails = fabric.find("rail") != std::string::npos;
    std::string leaf = rails ? "rail1.leaf1" : "leaf1",
                above = fabric.find("levels: 3") != std::string::npos ? "pod0" : "spine";
    for (const auto& changes : std::vector<std::vector<LinkOverride>>{
             {slower("node3.nic1", 3)},
             {slower("node5.gpu1-node5.pcie0", 1)},
             {broken("node2.nic0")},
             {slower(leaf + ">" + above, 2)},
             {slower("node0.nic0.in", 5), broken("node7.nic1.out"), slower(leaf + "-" + above, 6)}}) {
      auto cluster = machine(fabric)->build(48, changes);
      expect_like_walk(*cluster, all_of(*cluster));
    }
  }
}

TEST(DirectSends, OfSomeGpusOfEachNodeAreThoseOfAllPairs) {
  for (const auto& fabric : fabrics()) {
    SCOPED_TRACE(fabric);
    auto cluster = machine(fabric)->build(64);
    std::vector<int> uneven, backwards;
    for (int gpu = 0; gpu < 64; ++gpu)
      if (gpu % 3 != 1 && gpu / 4 != 2) uneven.push_back(gpu);
    for (int gpu = 63; gpu >= 0; gpu -= 2) backwards.push_back(gpu);
    expect_like_walk(*cluster, uneven);
    expect_like_walk(*cluster, backwards);
  }
}

TEST(DirectSends, OfNodesOfTwoKindsAreThoseOfAllPairs) {
  auto topology = machine(fabrics()[0],
                          "other_nodes:\n"
                          "  - nodes: [3, 6]\n"
                          "    node:\n"
                          "      gpus: 4\n"
                          "      interconnect: {kind: nvswitch, bandwidth: 200GB/s, latency: 1us}\n"
                          "      nics: {count: 2, bandwidth: 50Gbps, latency: 5us}\n");
  auto cluster = topology->build(32);
  expect_like_walk(*cluster, all_of(*cluster));
}

TEST(DirectSends, OfAGraphAreThoseOfAllPairs) {
  auto topology = topology_of(
      "kind: graph\n"
      "gpus: [{name: a, node: 0}, {name: b, node: 0}, {name: c, node: 1}]\n"
      "links:\n"
      "  - {between: [a, b], bandwidth: 10GB/s, latency: 1us}\n"
      "  - {between: [b, c], bandwidth: 5GB/s, latency: 2us}\n"
      "  - {between: [a, c], bandwidth: 7GB/s, latency: 1us}\n");
  auto cluster = topology->build(3);
  expect_like_walk(*cluster, all_of(*cluster));
}

// 65,536 GPUs of a SuperPOD are 256 leaves' nodes. Of nodes without twins 2,048 GPUs are the most.
TEST(DirectSends, CountLargeClustersWhereNodesAreAlike) {
  auto superpod = preset("superpod-h100")->build(16384);
  DirectSends sends(*superpod, all_of(*superpod), Operation::all_to_all);
  // Each NIC sends all but its node's part of each GPU's bytes.
  EXPECT_NEAR(sends.bounds().all * 50e9, (16384.0 - 8) / 16384, 1e-12);
  auto alone = machine("{kind: fat_tree, nodes_per_leaf: 1}")->build(2052);
  EXPECT_EQ(input_error([&] { DirectSends(*alone, all_of(*alone), Operation::all_to_all); }),
            "error: the links of an all-to-all of 2052 GPUs are not counted: 2052 of them have routes of "
            "their own, at most 2048 may\nhint: use a smaller --world-size, or smaller groups");
}

}  // namespace
}  // namespace ddpsim::testing
