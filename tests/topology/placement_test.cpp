#include "sim/topology/placement.hpp"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/topology/clusters.hpp"

namespace ddpsim {
namespace {

using ::testing::ElementsAre;

std::shared_ptr<const Cluster> nodes_of_three(int gpus) {
  return testing::build_text(
      "kind: cluster\n"
      "node: {gpus: 3, interconnect: {kind: fully_connected, bandwidth: 1GB/s, latency: 1us}, "
      "nics: {count: 1, bandwidth: 1GB/s, latency: 1us}}\n"
      "fabric: {kind: ring}\n",
      gpus);
}

// Jobs on racks of 72 take 64 of each, unless they fill them; all where there would be too many GPUs
// otherwise.
TEST(RacksOfAJob, AreTakenByPowersOfTwo) {
  for (auto [world, taken] :
       {std::pair(8, 72), {72, 72}, {73, 64}, {128, 64}, {144, 72}, {1440, 72}, {1048576, 72}})
    EXPECT_EQ(usual_domain_gpus(world, 72), taken) << world;
  EXPECT_EQ(gpus_of_nodes(128, 64, 72), 144);
  EXPECT_EQ(gpus_of_nodes(100, 8, 8), 100);
}

TEST(Placement, OfAPartOfEachNode) {
  Placement two;
  two.of_node = 2;
  EXPECT_THAT(place_ranks(two, *nodes_of_three(9), 5), ElementsAre(0, 1, 3, 4, 6));
  two.kind = PlacementKind::round_robin;
  EXPECT_THAT(place_ranks(two, *nodes_of_three(9), 5), ElementsAre(0, 3, 6, 1, 4));
}

TEST(Placement, Packed) {
  EXPECT_THAT(place_ranks({}, *nodes_of_three(5), 5), ElementsAre(0, 1, 2, 3, 4));
}

// Nodes of GPUs 0-2, 3-5 and 6-7: one of each node, again and again, as long as there are any.
TEST(Placement, RoundRobin) {
  EXPECT_THAT(place_ranks({PlacementKind::round_robin}, *nodes_of_three(8), 8),
              ElementsAre(0, 3, 6, 1, 4, 7, 2, 5));
}

// The first number of std::mt19937_64 seeded with 0 is 2947667278772165694, which is 6 modulo 8: the shuffle
// begins by swapping the last GPU with GPU 6.
TEST(Placement, RandomIsAFixedPermutationOfTheSeed) {
  auto cluster = nodes_of_three(8);
  auto gpus = place_ranks({PlacementKind::random, 0}, *cluster, 8);
  EXPECT_EQ(gpus.back(), 6);
  EXPECT_EQ(gpus, place_ranks({PlacementKind::random, 0}, *cluster, 8));
  EXPECT_NE(gpus, place_ranks({PlacementKind::random, 1}, *cluster, 8));
  std::sort(gpus.begin(), gpus.end());
  EXPECT_THAT(gpus, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
}

// Each of the 6 orders of 3 GPUs is as likely: 6000 seeds give each 1000 +- 29 (one standard deviation).
TEST(Placement, EveryOrderIsAsLikely) {
  auto cluster = nodes_of_three(3);
  std::map<std::vector<int>, int> seen;
  for (std::uint64_t seed = 0; seed < 6000; ++seed)
    ++seen[place_ranks({PlacementKind::random, seed}, *cluster, 3)];
  EXPECT_EQ(seen.size(), 6U);
  for (const auto& [order, count] : seen) EXPECT_NEAR(count, 1000, 5 * 29);
}

// 4 nodes of 3 GPUs, of which a job of 6 takes two: each of the 6 pairs is as likely, 6000 seeds give each
// 1000
// +- 29. Its GPUs are whole nodes, in order.
TEST(Placement, NodesAreDrawnWhole) {
  auto cluster = nodes_of_three(12);
  std::map<std::vector<int>, int> seen;
  for (std::uint64_t seed = 0; seed < 6000; ++seed)
    ++seen[place_ranks({PlacementKind::random_nodes, seed}, *cluster, 6)];
  EXPECT_EQ(seen.size(), 6U);
  for (const auto& [gpus, count] : seen) {
    EXPECT_NEAR(count, 1000, 5 * 29);
    EXPECT_TRUE(std::is_sorted(gpus.begin(), gpus.end()));
    EXPECT_EQ(gpus[0] % 3 + gpus[3] % 3, 0);
    EXPECT_EQ(gpus[2] - gpus[0] + gpus[5] - gpus[3], 4);
  }
}

// The job goes round broken nodes, however ranks are placed on the others.
TEST(Placement, BrokenNodesAreLeftOut) {
  auto cluster = nodes_of_three(12);
  EXPECT_THAT(place_ranks({}, *cluster, 6, {0, 2}), ElementsAre(3, 4, 5, 9, 10, 11));
  EXPECT_THAT(place_ranks({PlacementKind::round_robin}, *cluster, 5, {1}), ElementsAre(0, 6, 1, 7, 2));
  for (std::uint64_t seed = 0; seed < 20; ++seed)
    EXPECT_THAT(place_ranks({PlacementKind::random_nodes, seed}, *cluster, 6, {0, 2}),
                ElementsAre(3, 4, 5, 9, 10, 11));
}

TEST(Placement, TooFewSoundNodes) {
  EXPECT_EQ(testing::input_error([] {
              (void)place_ranks({}, *nodes_of_three(9), 6, {0, 1});
            }),
            "error: 2 of 3 nodes are broken, and the others have 3 GPUs for 6 ranks\n"
            "hint: a job runs on whole nodes only: cluster.nodes says how many nodes there are, spare ones "
            "among them");
}

}  // namespace
}  // namespace ddpsim
