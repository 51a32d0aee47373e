#include <bit>

#include <gtest/gtest.h>

#include "sim/base/check.hpp"
#include "sim/collective/algorithms.hpp"
#include "sim/collective/verify.hpp"

#include "tests/collective/expected_edges.hpp"
#include "tests/collective/wirings.hpp"

namespace ddpsim {
namespace {

using testing::bytes_sent;
using testing::wiring_of;

std::string error_of(const CollectiveSchedule& schedule) {
  return find_schedule_error(schedule).value_or("none");
}

constexpr int root = -1;

// By rank, from the edges that reduce this tree's piece.
std::vector<int> parents(const Channel& channel, int tree, int n) {
  std::vector<int> parents(n, root);
  for (const auto& edge : channel.edges)
    if (edge.reduce && edge.piece.index == tree) parents[edge.from] = edge.to;
  return parents;
}

std::vector<int> numbers_of_children(const Channel& channel, int tree, int n) {
  std::vector<int> children(n, 0);
  for (int parent : parents(channel, tree, n))
    if (parent != root) ++children[parent];
  return children;
}

class Tree : public ::testing::TestWithParam<int> {
 protected:
  int n = GetParam();
  Wiring wiring = wiring_of(1, n);
};
INSTANTIATE_TEST_SUITE_P(Ranks, Tree,
                         ::testing::Values(2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 32, 64),
                         ::testing::PrintToStringParamName());

TEST_P(Tree, IsRight) {
  for (int channels : {1, 2, 5})
    EXPECT_EQ(error_of(double_binary_tree(wiring, channels)), "none") << channels;
}

TEST_P(Tree, IsBinary) {
  auto schedule = double_binary_tree(wiring);
  for (int tree : {0, 1})
    for (int children : numbers_of_children(schedule.stages[0].channels[0], tree, n)) EXPECT_LE(children, 2);
}

// A leaf of one tree has the other's inner work to do. For an odd number of ranks the second tree is the
// first with every rank one further; the last rank of the first, which may have one child (none to its
// right), so becomes rank 0, and that is the first tree's root, with one child as well.
TEST_P(Tree, NobodyIsInnerInBoth) {
  auto schedule = double_binary_tree(wiring);
  auto first = numbers_of_children(schedule.stages[0].channels[0], 0, n);
  auto second = numbers_of_children(schedule.stages[0].channels[0], 1, n);
  EXPECT_EQ(first[0], 1);
  if (n % 2 == 1) {
    EXPECT_LE(second[0], 1);
  } else {
    EXPECT_EQ(second[0], 0);
  }
  for (int rank = 1; rank < n; ++rank) EXPECT_TRUE(first[rank] == 0 || second[rank] == 0) << rank;
}

// On half of the buffer, an inner rank sends it up once and down to two children; a leaf sends it up once:
// together 4 halves, and nobody more. On average it is 2 (n-1)/n S: both trees have n-1 edges each way, with
// S/2 on each.
TEST_P(Tree, BytesPerRank) {
  Bytes S(26214400);
  for (int channels : {1, 3}) {
    auto schedule = double_binary_tree(wiring, channels);
    double sum = 0;
    for (int rank = 0; rank < n; ++rank) {
      double sent = bytes_sent(schedule, wiring, rank, S);
      EXPECT_LE(sent, 2 * S.value() * (1 + 1e-12)) << rank;
      sum += sent;
    }
    EXPECT_NEAR(sum / n, 2.0 * (n - 1) / n * S.value(), 1e-6 * S.value());
  }
}

// The deepest leaf is 1: its parents are the powers of two below n, then 0. That is as many edges as n-1 has
// binary digits, ceil(log2 n), and as many back.
TEST_P(Tree, Depth) {
  auto schedule = double_binary_tree(wiring, 3);
  for (const auto& channel : schedule.stages[0].channels)
    EXPECT_EQ(channel.depth, 2 * std::bit_width(unsigned(n - 1)));
}

// The trees of an even number of ranks: the second is the first read from the other end (13 - rank).
TEST(Trees, OfFourteen) {
  auto schedule = double_binary_tree(wiring_of(1, 14));
  ASSERT_EQ(schedule.stages[0].channels.size(), 1U);
  const Channel& channel = schedule.stages[0].channels[0];
  //                                                        0  1  2  3  4  5  6  7  8   9  10  11  12  13
  EXPECT_EQ(parents(channel, 0, 14), (std::vector<int>{root, 2, 4, 2, 8, 6, 4, 6, 0, 10, 12, 10, 8, 12}));
  EXPECT_EQ(parents(channel, 1, 14), (std::vector<int>{1, 5, 3, 1, 3, 13, 7, 9, 7, 5, 11, 9, 11, root}));
}

// Of an odd number: the second is the first with every rank one further. 12 has one child in the first tree,
// so 0 has in the second.
TEST(Trees, OfThirteen) {
  auto schedule = double_binary_tree(wiring_of(1, 13));
  const Channel& channel = schedule.stages[0].channels[0];
  EXPECT_EQ(parents(channel, 0, 13), (std::vector<int>{root, 2, 4, 2, 8, 6, 4, 6, 0, 10, 12, 10, 8}));
  EXPECT_EQ(parents(channel, 1, 13), (std::vector<int>{9, root, 3, 5, 3, 9, 7, 5, 7, 1, 11, 0, 11}));
}

// Four ranks: 0 <- 2 <- {1, 3} on the first half of each chunk, mirrored 3 <- 1 <- {2, 0} on the second. Of
// each tree up edges by child, then down edges; what comes down from the root waits for what came up to it.
TEST(Trees, Inputs) {
  auto schedule = double_binary_tree(wiring_of(1, 4));
  EXPECT_EQ(schedule.algorithm, "tree");
  ASSERT_EQ(schedule.stages[0].channels.size(), 1U);
  const Channel& channel = schedule.stages[0].channels[0];
  EXPECT_EQ(channel.pattern, Pattern::pipeline);
  EXPECT_EQ(channel.part.index, 0);
  EXPECT_EQ(channel.part.of, 1);
  std::vector<testing::ExpectedTreeEdge> expected = {
      {1, 2, true, {}},   {2, 0, true, {0, 2}}, {3, 2, true, {}},   {2, 1, false, {4}},
      {0, 2, false, {1}}, {2, 3, false, {4}},   {0, 1, true, {}},   {1, 3, true, {6, 8}},
      {2, 1, true, {}},   {1, 0, false, {10}},  {3, 1, false, {7}}, {1, 2, false, {10}}};
  testing::expect_two_trees_of_four(channel, expected);
}

// Three pairs of trees: thirds of the buffer, over the same links.
TEST(Trees, ChannelsShareTheLinks) {
  auto schedule = double_binary_tree(wiring_of(1, 6), 3);
  const auto& channels = schedule.stages[0].channels;
  ASSERT_EQ(channels.size(), 3U);
  for (int c = 0; c < 3; ++c) {
    EXPECT_EQ(channels[c].part.index, c);
    EXPECT_EQ(channels[c].part.of, 3);
    for (int tree : {0, 1}) EXPECT_EQ(parents(channels[c], tree, 6), parents(channels[0], tree, 6));
  }
}

TEST(Trees, OneRankHasNothingToDo) {
  EXPECT_TRUE(double_binary_tree(wiring_of(1, 1)).stages.empty());
  EXPECT_THROW(double_binary_tree(wiring_of(1, 4), 0), InternalError);
}

}  // namespace
}  // namespace ddpsim
