// Large clusters cost what their description costs; the files that come with the program.
#include <chrono>
#include <filesystem>

#include <gtest/gtest.h>

#include "sim/text/topology_file.hpp"
#include "sim/topology/node_cluster.hpp"
#include "sim/topology/rings.hpp"

#include "tests/topology/clusters.hpp"

namespace ddpsim {
namespace {

constexpr int kGpus = 65536;

std::shared_ptr<const Topology> h100() {
  return read_topology(testing::file_path("dgx-h100.yaml"));
}

// Nothing is kept a node, unless it differs: a changed link, or a last node with idle GPUs.
TEST(LargeCluster, KeepsNothingANode) {
  auto kept = [](const Cluster& cluster) { return dynamic_cast<const NodeCluster&>(cluster).nodes_kept(); };
  EXPECT_EQ(kept(*h100()->build(8)), 0U);
  EXPECT_EQ(kept(*h100()->build(kGpus)), 0U);
  EXPECT_EQ(kept(*h100()->build(kGpus - 3)), 1U);
  LinkOverride slow;
  slow.link = "node77.nic1";
  slow.bandwidth = BytesPerSecond(1e9);
  auto cluster = h100()->build(kGpus, std::vector{slow});
  EXPECT_EQ(kept(*cluster), 1U);
  EXPECT_DOUBLE_EQ(cluster->route(77 * 8 + 1, 78 * 8 + 1).bandwidth.value(), 1e9);
}

TEST(LargeCluster, IdsAndNamesByArithmetic) {
  auto cluster = h100()->build(kGpus);
  EXPECT_EQ(cluster->nodes(), 8192);
  EXPECT_EQ(cluster->links(), 8192 * 32 + 256 * 8 * 2);  // 32 a node; 256 groups of 32 nodes, 8 leaves each
  auto last = cluster->route(0, kGpus - 1);
  EXPECT_EQ(testing::link_names(*cluster, last.links),
            (std::vector<std::string>{"node0.nic0>rail0.leaf0", "rail0.leaf0>spine", "spine>rail7.leaf255",
                                      "rail7.leaf255>node8191.nic7"}));
  for (int link = 0; link < cluster->links(); link += 1009)
    EXPECT_EQ(cluster->links_named(cluster->link_name(link), {}), std::vector<int>{link});
}

// Generous limits (this runs under sanitizers too), far below anything that grows with the square of GPUs.
TEST(LargeCluster, RoutesAndRingsAreQuick) {
  auto start = std::chrono::steady_clock::now();
  auto cluster = h100()->build(kGpus);
  auto gpus = testing::all_gpus(*cluster);
  auto rings = find_rings(*cluster, gpus, std::nullopt);
  ASSERT_EQ(rings.size(), 8U);
  for (const auto& ring : rings) EXPECT_EQ(ring.size(), gpus.size());
  double total = 0;
  for (int i = 0; i < kGpus; ++i) total += cluster->route(i, (i + 1) % kGpus).latency.value();
  EXPECT_GT(total, 0);
  EXPECT_LT(std::chrono::steady_clock::now() - start, std::chrono::seconds(60));
}

TEST(Files, AllOfThisRepositoryAreReadAndBuilt) {
  int files = 0;
  for (const auto& entry : std::filesystem::directory_iterator(testing::file_path(""))) {
    if (entry.path().extension() != ".yaml") continue;
    ++files;
    auto topology = read_topology(entry.path().string());
    for (int gpus : {2, 8, 32}) {
      auto cluster = topology->build(gpus);
      auto all = testing::all_gpus(*cluster);
      EXPECT_FALSE(find_rings(*cluster, all, std::nullopt).empty()) << entry.path();
    }
  }
  EXPECT_GE(files, 7);
}

TEST(Files, SixNvlinksAGpuOfADgx1) {
  auto cluster = read_topology(testing::file_path("dgx1-v100.yaml"))->build(8);
  for (int gpu = 0; gpu < 8; ++gpu) {
    int nvlinks = 0;
    for (int other = 0; other < 8; ++other) {
      auto route = cluster->find_route(gpu, other);
      if (route->links.size() == 1) nvlinks += cluster->cable(route->links[0]).count;
    }
    EXPECT_EQ(nvlinks, 6) << gpu;
  }
}

}  // namespace
}  // namespace ddpsim
