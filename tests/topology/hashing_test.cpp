// Flows over single cables of uplinks. tests/cli/hashing_test.py works the cables out by itself.
#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/topology/rings.hpp"

#include "tests/topology/clusters.hpp"

namespace ddpsim {
namespace {

using ::testing::ElementsAre;
using testing::way;

constexpr const char* kNode =
    "kind: cluster\n"
    "node: {gpus: 1, nics: {count: 1, bandwidth: 25GB/s, latency: 5us}}\n"
    "fabric: ";
// 4 nodes a leaf: 4 cables of 25 GB/s above each.
constexpr const char* kTree = "{kind: fat_tree, nodes_per_leaf: 4}";
// 2 leaves of 2 nodes a pod: 2 cables above each leaf, 4 above each pod.
constexpr const char* kPods = "{kind: fat_tree, levels: 3, nodes_per_leaf: 2, leaves_per_pod: 2}";

std::shared_ptr<const Cluster> hashed(const std::string& fabric, int gpus, std::uint64_t seed,
                                      const std::vector<LinkOverride>& overrides = {}) {
  auto topology = testing::read_text(kNode + fabric + "\n");
  topology->check_hashing(gpus);
  return topology->build(gpus, overrides, Hashing{seed, 1});
}

// "leaf0>spine" of "leaf0>spine.3"
std::string without_cable(const std::string& link) {
  bool of_nic = link.find("node") != std::string::npos;
  return of_nic ? link : link.substr(0, link.rfind('.'));
}

int cable_of(const Cluster& cluster, int from, int to) {
  auto up = way(cluster, from, to).at(1);
  return std::stoi(up.substr(up.rfind('.') + 1));
}

LinkOverride broken(const std::string& link) {
  LinkOverride override;
  override.link = link;
  override.broken = true;
  return override;
}

TEST(Hashing, EachCableIsALink) {
  auto tree = hashed(kTree, 8, 1);
  EXPECT_EQ(tree->links(), 8 * 2 + 2 * 2 * 4);  // up and down of each NIC, and of 4 cables of 2 leaves
  for (int link = 0; link < tree->links(); ++link)
    EXPECT_THAT(tree->links_named(tree->link_name(link), {}), ElementsAre(link));
  auto both = tree->links_named("leaf1-spine.2", {});
  EXPECT_THAT(testing::link_names(*tree, both), ElementsAre("leaf1>spine.2", "spine>leaf1.2"));
  EXPECT_DOUBLE_EQ(tree->link(both.front()).bandwidth.value(), 25e9);
  EXPECT_EQ(testing::input_error([&] { (void)tree->links_named("leaf1>spine.4", {}); }),
            "error: there is no link 'leaf1>spine.4'; did you mean 'leaf1>spine.0'?\n"
            "hint: links are called like node0.nic0>leaf0, the cables of a NIC node0.nic0");
  EXPECT_THAT(testing::input_error([&] { (void)tree->links_named("leaf1>spine", {}); }),
              ::testing::HasSubstr("there is no link 'leaf1>spine'; did you mean 'leaf1>spine.0'?"));
}

// What goes up by cable i comes down by cable i; but for that the way is the one without hashing.
TEST(Hashing, WaysAreTheSameButForCables) {
  for (const char* fabric : {kTree, kPods}) {
    auto tree = hashed(fabric, 8, 7);
    auto even = testing::build_text(std::string(kNode) + fabric + "\n", 8);
    for (int from = 0; from < 8; ++from)
      for (int to = 0; to < 8; ++to) {
        if (from == to) continue;
        auto links = way(*tree, from, to);
        for (std::size_t i = 1; i < links.size() / 2; ++i) {
          auto up = links[i], down = links[links.size() - 1 - i];
          EXPECT_EQ(up.substr(up.rfind('.')), down.substr(down.rfind('.'))) << up << " " << down;
        }
        for (auto& link : links) link = without_cable(link);
        EXPECT_EQ(links, way(*even, from, to));
        EXPECT_DOUBLE_EQ(tree->route(from, to).latency.value(), even->route(from, to).latency.value());
      }
  }
}

// `uplinks` says how many cables there are, all of them with the bandwidth that the oversubscription leaves.
TEST(Hashing, Uplinks) {
  auto rails = hashed("{kind: rail_optimized, nodes_per_leaf: 4, oversubscription: 2, uplinks: 5}", 8, 1);
  EXPECT_DOUBLE_EQ(rails->link(rails->links_named("rail0.leaf1>spine.4", {}).at(0)).bandwidth.value(), 10e9);
  auto pods = hashed(
      "{kind: fat_tree, levels: 3, nodes_per_leaf: 2, leaves_per_pod: 2, oversubscription: [1, 4], uplinks: "
      "[1, 2]}",
      8, 1);
  EXPECT_DOUBLE_EQ(pods->link(pods->links_named("leaf3>pod1", {}).at(0)).bandwidth.value(), 50e9);
  EXPECT_DOUBLE_EQ(pods->link(pods->links_named("pod1>spine.1", {}).at(0)).bandwidth.value(), 12.5e9);
}

// 4,096 flows from one leaf to another: 1,024 a cable, with a standard deviation of sqrt(4096 x 1/4 x 3/4)
// = 28.
TEST(Hashing, SpreadsFlowsOverAllCables) {
  std::vector<int> flows(4);
  for (std::uint64_t seed = 0; seed < 256; ++seed) {
    auto tree = hashed(kTree, 8, seed);
    for (int from = 0; from < 4; ++from)
      for (int to = 4; to < 8; ++to) ++flows[static_cast<std::size_t>(cable_of(*tree, from, to))];
  }
  for (int count : flows) EXPECT_NEAR(count, 1024, 4 * 28);
}

// In both directions: a cable that is broken towards the other leaf is of no use either.
TEST(Hashing, GoesRoundBrokenCables) {
  int cable = cable_of(*hashed(kTree, 8, 1), 0, 4);
  int next = (cable + 1) % 4;
  for (const char* name : {"leaf0>spine.{}", "spine>leaf1.{}"}) {
    auto mended = hashed(kTree, 8, 1, {broken(fmt::format(fmt::runtime(name), cable))});
    EXPECT_EQ(cable_of(*mended, 0, 4), next);
  }
  std::vector<LinkOverride> all;
  for (int i = 0; i < 4; ++i) all.push_back(broken(fmt::format("leaf0-spine.{}", i)));
  auto cut = hashed(kTree, 8, 1, all);
  EXPECT_FALSE(cut->find_route(0, 4));
  EXPECT_THAT(testing::input_error([&] { (void)cut->route(0, 4); }), ::testing::HasSubstr("is broken"));
}

// Ranks choose their rings as if flows were spread evenly, and know nothing of a slow cable.
TEST(Hashing, RingsKnowNothingOfIt) {
  LinkOverride slow = broken("leaf0>spine.0");
  slow.broken = false;
  slow.bandwidth = BytesPerSecond(1e9);
  LinkOverride nic = slow;
  nic.link = "node3.nic0";
  auto tree = hashed(kTree, 8, 1, {slow, nic});
  auto gpus = testing::all_gpus(*tree);
  auto even = testing::build_text(std::string(kNode) + kTree + "\n", 8, {nic});
  EXPECT_EQ(find_rings(*tree, gpus, std::nullopt), find_rings(*even, gpus, std::nullopt));
  const auto& seen = tree->without_hashing();
  EXPECT_EQ(seen.links(), even->links());
  for (int link = 0; link < seen.links(); ++link) {
    EXPECT_EQ(seen.link_name(link), even->link_name(link));
    EXPECT_EQ(seen.link(link).bandwidth, even->link(link).bandwidth);
  }
  EXPECT_EQ(&even->without_hashing(), even.get());
}

TEST(Hashing, NoNodesAreTwins) {
  auto tree = hashed(kTree, 8, 1);
  for (int node = 0; node < tree->nodes(); ++node) EXPECT_EQ(tree->twin_of(node), node);
}

TEST(Hashing, NeedsAWholeNumberOfUplinks) {
  auto error = [](const std::string& fabric) {
    return testing::input_error([&] { (void)hashed(fabric, 8, 1); });
  };
  EXPECT_EQ(
      error("{kind: fat_tree, nodes_per_leaf: 4, oversubscription: 3}"),
      "error: 4 cables below each leaf and an oversubscription of 3 leave 1.333 above it, which is no whole "
      "number\n"
      "hint: say in the topology's 'fabric' how many there are: 'uplinks: N'");
  EXPECT_EQ(error("{kind: ring}"),
            "error: the topology has no uplinks of switches, onto which flows could be hashed\n"
            "hint: remove cluster.hashing, or use a fabric of kind fat_tree, or rail_optimized with a spine");
}

}  // namespace
}  // namespace ddpsim
