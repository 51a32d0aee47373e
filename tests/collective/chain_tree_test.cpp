#include <algorithm>
#include <bit>
#include <set>

#include <gtest/gtest.h>

#include "sim/base/check.hpp"
#include "sim/collective/algorithms.hpp"
#include "sim/collective/time_alone.hpp"
#include "sim/collective/verify.hpp"

#include "tests/collective/expected_edges.hpp"
#include "tests/collective/two_levels.hpp"
#include "tests/collective/wirings.hpp"

namespace ddpsim {
namespace {

using testing::bytes_by_link;
using testing::bytes_sent;
using testing::turned_chain_tree;
using testing::two_level_capacity;
using testing::two_levels;
using testing::wiring_of;

std::string error_of(const CollectiveSchedule& schedule) {
  return find_schedule_error(schedule).value_or("none");
}

std::vector<int> nodes_of_ranks(const Wiring& wiring) {
  std::vector<int> node_of(wiring.ranks);
  for (std::size_t node = 0; node < wiring.nodes.size(); ++node)
    for (int rank : wiring.nodes[node]) node_of[rank] = static_cast<int>(node);
  return node_of;
}

class ChainTrees : public ::testing::TestWithParam<int> {
 protected:
  int nodes = GetParam();
};
INSTANTIATE_TEST_SUITE_P(Nodes, ChainTrees, ::testing::Range(1, 10), ::testing::PrintToStringParamName());

TEST_P(ChainTrees, AreRight) {
  for (int size = 1; size <= 8; ++size)
    for (int channels = 1; channels <= 8; ++channels)
      EXPECT_EQ(error_of(turned_chain_tree(wiring_of(nodes, size), channels)), "none")
          << size << " " << channels;
}

// Up the chain and the deeper tree, which has as many levels as M-1 has binary digits, and back.
TEST_P(ChainTrees, Depth) {
  for (int size : {2, 3, 8}) {
    auto schedule = turned_chain_tree(wiring_of(nodes, size), 2);
    for (const auto& channel : schedule.stages.at(0).channels)
      EXPECT_EQ(channel.depth, 2 * (size - 1) + 2 * std::bit_width(unsigned(nodes - 1)));
  }
}

// Over a NIC go a channel's two trees: an inner node of one sends half of the part up and down to two
// children, a leaf of the other half up, together twice the part; on average 2 (M-1)/M of it. The head of the
// chain is the only one of the node that sends to others.
TEST_P(ChainTrees, BytesBetweenNodes) {
  Bytes S(26214400);
  for (int size : {1, 4, 8}) {
    auto wiring = wiring_of(nodes, size);
    auto node_of = nodes_of_ranks(wiring);
    auto between_nodes = [&](int from, int to) { return node_of[from] != node_of[to]; };
    double sum = 0;
    auto schedule = turned_chain_tree(wiring, size);  // each rank is the head of one channel
    for (int rank = 0; rank < wiring.ranks && wiring.ranks > 1; ++rank) {
      double sent = bytes_sent(schedule, wiring, rank, S, between_nodes);
      EXPECT_LE(sent, 2 * S.value() / size * (1 + 1e-12));
      sum += sent;
    }
    EXPECT_NEAR(sum / nodes, 2.0 * (nodes - 1) / nodes * S.value(), 1e-6 * S.value());
  }
}

// Each hop of a chain carries the part towards the head and back. Of 8 channels over 8 ranks, 7 have a hop
// between a rank and the next.
TEST_P(ChainTrees, BytesInNodes) {
  Bytes S(26214400);
  auto wiring = wiring_of(nodes, 8);
  auto node_of = nodes_of_ranks(wiring);
  auto in_node = [&](int from, int to) { return node_of[from] == node_of[to]; };
  auto schedule = turned_chain_tree(wiring, 8);
  for (int rank = 0; rank < wiring.ranks; ++rank)
    EXPECT_NEAR(bytes_sent(schedule, wiring, rank, S, in_node), 2 * 7.0 / 8 * S.value(), 1e-6 * S.value());
}

// In the first tree of two nodes the second sends half of the part up, in the other tree it hands half down.
TEST(ChainTreeOf, TwoNodesSendThePartOnceEachWay) {
  Bytes S(26214400);
  auto wiring = wiring_of({3, 5});
  auto node_of = nodes_of_ranks(wiring);
  auto between_nodes = [&](int from, int to) { return node_of[from] != node_of[to]; };
  auto schedule = turned_chain_tree(wiring, 1);
  for (int rank = 0; rank < 8; ++rank)
    EXPECT_NEAR(bytes_sent(schedule, wiring, rank, S, between_nodes), rank == 0 || rank == 3 ? S.value() : 0,
                1e-6 * S.value())
        << rank;
}

TEST(ChainTreeOf, UnequalNodes) {
  for (const auto& sizes : std::vector<std::vector<int>>{{1, 8},
                                                         {8, 1},
                                                         {3, 1, 4},
                                                         {1, 5, 2, 6},
                                                         {2, 7, 1, 8, 2},
                                                         {1, 1, 1, 1, 1, 4},
                                                         {8, 8, 8, 8, 8, 8, 8, 3}})
    for (int channels = 1; channels <= 8; ++channels)
      EXPECT_EQ(error_of(turned_chain_tree(wiring_of(sizes), channels)), "none")
          << sizes.size() << " " << channels;
}

// A node's ranks need not be neighbours, nor nodes come in the order of their ranks.
TEST(ChainTreeOf, RanksInAnyOrder) {
  auto wiring = wiring_of(3, 4);
  wiring.nodes = {{7, 3, 11, 1}, {0, 2, 4}, {10, 5, 9, 6, 8}};
  for (int channels : {1, 2, 4, 5})
    EXPECT_EQ(error_of(turned_chain_tree(wiring, channels)), "none") << channels;
}

// Two nodes of two ranks and the second of two channels: heads 1 and 3, and 0 and 2 behind them. First the
// tree towards node 0 on one half of each chunk, then the one towards node 1 on the other.
TEST(ChainTreeOf, TwoNodesOfTwo) {
  auto schedule = turned_chain_tree(wiring_of(2, 2), 2);
  EXPECT_EQ(schedule.algorithm, "chain_tree");
  EXPECT_EQ(schedule.operation, Operation::all_reduce);
  ASSERT_EQ(schedule.stages.size(), 1U);
  ASSERT_EQ(schedule.stages[0].channels.size(), 2U);
  const Channel& channel = schedule.stages[0].channels[1];
  EXPECT_EQ(channel.pattern, Pattern::pipeline);
  EXPECT_EQ(channel.part.index, 1);
  EXPECT_EQ(channel.part.of, 2);
  std::vector<testing::ExpectedTreeEdge> expected = {
      {0, 1, true, {}},      {2, 3, true, {}},      {3, 1, true, {1}},  // 2 -> 3 -> 1 <- 0
      {1, 0, false, {0, 2}}, {3, 2, false, {5}},    {1, 3, false, {0, 2}},
      {0, 1, true, {}},      {1, 3, true, {6}},     {2, 3, true, {}},  // 0 -> 1 -> 3 <- 2
      {1, 0, false, {10}},   {3, 1, false, {7, 8}}, {3, 2, false, {7, 8}},
  };
  testing::expect_two_trees_of_four(channel, expected);
}

// The ranks that send to other nodes, by channel.
std::vector<std::set<int>> heads(const CollectiveSchedule& schedule, const Wiring& wiring) {
  auto node_of = nodes_of_ranks(wiring);
  std::vector<std::set<int>> heads;
  for (const auto& channel : schedule.stages[0].channels) {
    heads.emplace_back();
    for (const auto& edge : channel.edges)
      if (node_of[edge.from] != node_of[edge.to]) heads.back().insert(edge.from);
  }
  return heads;
}

// Position c g / channels: of 4 channels 0, 2, 4, 6 in a node of 8, 0, 0, 1, 2 in one of 3 (ranks 8 to 10).
TEST(ChainTreeOf, ChannelsTakeTurnsAsHeads) {
  auto wiring = wiring_of({8, 3});
  EXPECT_EQ(heads(turned_chain_tree(wiring, 4), wiring),
            (std::vector<std::set<int>>{{0, 8}, {2, 8}, {4, 9}, {6, 10}}));
  EXPECT_EQ(heads(turned_chain_tree(wiring, 1), wiring), (std::vector<std::set<int>>{{0, 8}}));
}

// 3 -> 2 -> 1 -> 0 and back, both halves of each chunk.
TEST(ChainTreeOf, OneNodeIsAChain) {
  auto schedule = turned_chain_tree(wiring_of(1, 4), 1);
  const Channel& channel = schedule.stages[0].channels[0];
  EXPECT_EQ(channel.depth, 6);
  EXPECT_EQ(channel.edges.size(), 12U);
  for (const auto& edge : channel.edges) EXPECT_EQ(edge.from - edge.to, edge.reduce ? 1 : -1);
  for (auto [link, bytes] : bytes_by_link(schedule, Bytes(1e6))) EXPECT_NEAR(bytes, 1e6, 1e-6) << link;
}

TEST(ChainTreeOf, OneRankANodeIsTheDoubleBinaryTree) {
  for (int nodes : {2, 5, 8, 13}) {
    auto wiring = wiring_of(nodes, 1);
    auto chains = turned_chain_tree(wiring, 3), trees = double_binary_tree(wiring, 3);
    for (int c = 0; c < 3; ++c) {
      const auto &of_chains = chains.stages[0].channels[c].edges,
                 &of_trees = trees.stages[0].channels[c].edges;
      ASSERT_EQ(of_chains.size(), of_trees.size());
      for (std::size_t e = 0; e < of_trees.size(); ++e) {
        EXPECT_EQ(of_chains[e].route, of_trees[e].route);
        EXPECT_EQ(of_chains[e].inputs, of_trees[e].inputs);
      }
      EXPECT_EQ(chains.stages[0].channels[c].depth, trees.stages[0].channels[c].depth);
    }
  }
}

TEST(ChainTreeOf, OneRankHasNothingToDo) {
  EXPECT_TRUE(turned_chain_tree(wiring_of(1, 1), 4).stages.empty());
  EXPECT_THROW(turned_chain_tree(wiring_of(2, 4), 0), InternalError);
}

// 64 MiB on two nodes of eight, a channel a rank: parts of 8 MiB, whose halves are 32 chunks of 128 KiB (a
// chain of 8 and a tree of 2 are eight levels; 64 chunks would be too small). Levels 0 to 6 reduce along the
// chains, 7 is up, 8 down, 8 to 15 hand back: 47 rounds. A half takes 0.65536 us on NVLink and 10.48576 us on
// a NIC.
//   Rounds 0 to 6: every rank is at every place of one channel's chain. In round r it passes on both halves
//   from r + 1 places, 0.5 us + 2 (r+1) halves: 7 x 0.5 us + 56 halves. Rounds 7 and 39: up alone or down
//   alone, 5 us + 1 half on a NIC (NVLink has 14 halves, 9.2 us, and hides behind it). Rounds 8 to 38: both,
//   one tree's each, 5 us + 2 halves on a NIC (28 on NVLink are 18.4 us). Rounds 40 to 46: the root of a tree
//   hands back a round earlier than the other node. In round 40 + j the rank passes on 6-j halves of the tree
//   whose root is in its node, 7-j of the other: 7 x 0.5 us + (13 + 11 + ... + 1) halves.
TEST(ChainTreeTime, ByHand) {
  auto schedule = turned_chain_tree(two_levels(16), 8);
  auto plan = fold({{{&schedule, 0}}, {}, two_level_capacity});
  CollectiveTime time(plan.groups.at(0).plan, plan.links);
  double nvlink = 0.65536e-6, nic = 10.48576e-6;
  double expected =
      (3.5e-6 + 56 * nvlink) + 2 * (5e-6 + nic) + 31 * (5e-6 + 2 * nic) + (3.5e-6 + 49 * nvlink);
  EXPECT_NEAR(time(Bytes(64 * 1048576.0)).value(), expected, 1e-13);
}

// All channels are alike on alike nodes, and the two trees mirror each other.
TEST(ChainTreeFold, ChannelsAreOne) {
  auto schedule = turned_chain_tree(two_levels(64 * 8), 8);
  auto plan = fold({{{&schedule, 0}}, {}, two_level_capacity});
  const auto& units = plan.groups.at(0).plan.stages.at(0).units;
  ASSERT_EQ(units.size(), 1U);
  ASSERT_EQ(units[0].channels.size(), 1U);
  EXPECT_EQ(units[0].channels[0].copies, 8);
  EXPECT_LT(units[0].channels[0].flows.size(), schedule.stages[0].channels[0].edges.size() / 8);
}

}  // namespace
}  // namespace ddpsim
