// Groups of one shape have the same routes between the same ranks, link by link.
#include "sim/topology/group_shape.hpp"

#include <map>
#include <random>

#include <gtest/gtest.h>

#include "tests/topology/clusters.hpp"

namespace ddpsim {
namespace {

constexpr const char* kNode =
    "kind: cluster\n"
    "node: {gpus: 2, nics: {count: 1, bandwidth: 25GB/s, latency: 5us}, interconnect: {kind: nvswitch, "
    "bandwidth: "
    "300GB/s, latency: 1us}}\n"
    "fabric: ";
constexpr const char* kPods =
    "{kind: fat_tree, levels: 3, nodes_per_leaf: 2, leaves_per_pod: 2, oversubscription: [2, 2]}\n";

std::vector<int> whole_nodes(std::initializer_list<int> nodes, int gpus_of_a_node) {
  std::vector<int> gpus;
  for (int node : nodes)
    for (int position = 0; position < gpus_of_a_node; ++position)
      gpus.push_back(node * gpus_of_a_node + position);
  return gpus;
}

// One link of each group stands for one of the other, with the same figures.
void expect_alike(const Cluster& cluster, const std::vector<int>& one, const std::vector<int>& other) {
  std::map<int, int> there, back;
  for (std::size_t from = 0; from < one.size(); ++from)
    for (std::size_t to = 0; to < one.size(); ++to) {
      auto a = cluster.route(one[from], one[to]).links, b = cluster.route(other[from], other[to]).links;
      ASSERT_EQ(a.size(), b.size());
      for (std::size_t i = 0; i < a.size(); ++i) {
        EXPECT_EQ(there.try_emplace(a[i], b[i]).first->second, b[i]);
        EXPECT_EQ(back.try_emplace(b[i], a[i]).first->second, a[i]);
        EXPECT_EQ(cluster.link(a[i]).bandwidth, cluster.link(b[i]).bandwidth);
        EXPECT_EQ(cluster.link(a[i]).latency, cluster.link(b[i]).latency);
      }
    }
}

TEST(GroupShape, IsWhereRanksAre) {
  auto cluster = testing::build_text(std::string(kNode) + kPods, 32);
  auto shape = [&](std::initializer_list<int> nodes) { return group_shape(*cluster, whole_nodes(nodes, 2)); };
  EXPECT_EQ(shape({0, 1}), shape({6, 7}));   // of one leaf
  EXPECT_EQ(shape({0, 2}), shape({5, 7}));   // of two leaves of a pod
  EXPECT_EQ(shape({0, 4}), shape({3, 15}));  // of two pods
  EXPECT_EQ(shape({0, 1, 4}), shape({8, 9, 14}));
  EXPECT_NE(shape({0, 1}), shape({0, 2}));
  EXPECT_NE(shape({0, 2}), shape({0, 4}));
  EXPECT_NE(shape({0, 1, 4}), shape({0, 4, 1}));  // other ranks beside one another
  EXPECT_NE(group_shape(*cluster, std::vector{0, 2}), group_shape(*cluster, std::vector{0, 3}));
  EXPECT_NE(group_shape(*cluster, std::vector{0, 1}), group_shape(*cluster, std::vector{0, 2}));
}

TEST(GroupShape, ANodeWithLinksOfItsOwnIsLikeNoOther) {
  LinkOverride slow;
  slow.link = "node3.nic0";
  slow.bandwidth = BytesPerSecond(1e9);
  auto cluster = testing::build_text(std::string(kNode) + kPods, 32, {slow});
  EXPECT_NE(group_shape(*cluster, std::vector{0, 4}), group_shape(*cluster, std::vector{0, 6}));
  EXPECT_EQ(group_shape(*cluster, std::vector{0, 4}), group_shape(*cluster, std::vector{8, 12}));
}

// Where routes are each their own: over an uplink that was changed, hashed, around a ring of nodes.
TEST(GroupShape, IsUnknownWhereRoutesAreTheirOwn) {
  LinkOverride slow;
  slow.link = "leaf1>pod0";
  slow.bandwidth = BytesPerSecond(1e9);
  auto text = std::string(kNode) + kPods;
  auto ring = std::string(kNode) + "{kind: ring}\n";
  for (const auto& cluster :
       {testing::build_text(text, 32, {slow}), testing::read_text(text)->build(32, {}, Hashing{7}),
        testing::build_text(ring, 32)}) {
    EXPECT_FALSE(group_shape(*cluster, std::vector{0, 2}));
    EXPECT_EQ(group_shape(*cluster, std::vector{0, 1}), group_shape(*cluster, std::vector{8, 9}));
  }
}

TEST(GroupShape, GroupsOfOneShapeHaveTheSameRoutes) {
  std::mt19937 random(1);
  for (const char* name : {"dgx-h100.yaml", "gb200-nvl72.yaml", "fat-tree-3level.yaml", "pcie-8gpu.yaml"}) {
    SCOPED_TRACE(name);
    auto cluster = read_topology(testing::file_path(name))->build(1152);
    std::map<std::vector<int>, std::vector<int>> first_of_shape;
    int alike = 0;
    for (int draw = 0; draw < 400; ++draw) {
      // Few ranks at even strides, so that many groups are alike.
      int first = static_cast<int>(random() % 64) * 8;
      int stride = std::initializer_list<int>{1, 8, 72, 144, 256}.begin()[random() % 5];
      std::vector<int> gpus;
      for (int rank = 0; rank < 3; ++rank) gpus.push_back((first + rank * stride) % 1152);
      auto shape = group_shape(*cluster, gpus);
      ASSERT_TRUE(shape);
      auto [it, is_new] = first_of_shape.try_emplace(*shape, gpus);
      if (is_new || it->second == gpus) continue;
      ++alike;
      expect_alike(*cluster, it->second, gpus);
    }
    EXPECT_GT(alike, 100);
  }
}

}  // namespace
}  // namespace ddpsim
