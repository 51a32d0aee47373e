#include <bit>

#include <gtest/gtest.h>

#include "sim/base/source.hpp"
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
using testing::two_level_capacity;
using testing::two_levels;
using testing::wiring_of;

std::string error_of(const CollectiveSchedule& schedule) {
  return find_schedule_error(schedule).value_or("none");
}

// What a builder says to a user.
template <class Build>
std::string message_of(Build build) {
  try {
    build();
  } catch (const InputError& error) {
    return error.what();
  }
  return "none";
}

// Each rank sends the whole buffer to be added up and its shard's sum to be multicast: S (1 + 1/n). It
// receives as much: its shard's sum, then everything.
void expect_switch_bytes(const CollectiveSchedule& schedule, const Wiring& wiring, int node_size) {
  Bytes S(26214400);
  auto by_link = bytes_by_link(schedule, S);
  for (int rank = 0; rank < wiring.ranks; ++rank)
    for (int direction = 0; direction < 2; ++direction)
      EXPECT_NEAR(by_link[wiring.ranks * wiring.ranks + 2 * rank + direction],
                  S.value() * (1 + 1.0 / node_size), 1e-6 * S.value());
}

class Nvls : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, Nvls,
                         ::testing::Values(2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 32),
                         ::testing::PrintToStringParamName());

TEST_P(Nvls, IsRight) {
  EXPECT_EQ(error_of(nvls(wiring_of(1, GetParam()))), "none");
}

TEST_P(Nvls, BytesPerRank) {
  auto wiring = wiring_of(1, GetParam());
  expect_switch_bytes(nvls(wiring), wiring, GetParam());
}

// To the switch, to the owner, to the switch, to all; n edges each.
TEST_P(Nvls, Shape) {
  int n = GetParam();
  auto schedule = nvls(wiring_of(1, n));
  EXPECT_EQ(schedule.algorithm, "nvls");
  ASSERT_EQ(schedule.stages.size(), 1U);
  ASSERT_EQ(schedule.stages[0].channels.size(), 1U);
  const Channel& channel = schedule.stages[0].channels[0];
  EXPECT_EQ(channel.pattern, Pattern::pipeline);
  EXPECT_EQ(channel.depth, 4);
  EXPECT_EQ(channel.edges.size(), std::size_t(4 * n));
}

TEST_P(Nvls, TreeOfOneNodeIsTheSame) {
  auto wiring = wiring_of(1, GetParam());
  auto tree = nvls_tree(wiring), plain = nvls(wiring);
  EXPECT_EQ(tree.algorithm, "nvls_tree");
  ASSERT_EQ(tree.stages.size(), 1U);
  EXPECT_EQ(tree.stages[0].channels[0].edges.size(), plain.stages[0].channels[0].edges.size());
  EXPECT_EQ(bytes_by_link(tree, Bytes(1e6)), bytes_by_link(plain, Bytes(1e6)));
  EXPECT_EQ(error_of(tree), "none");
}

// Two ranks; the switch adds up in vertex 2 and multicasts from vertex 3.
TEST(NvlsOf, TwoRanks) {
  auto schedule = nvls(wiring_of(1, 2));
  std::vector<testing::ExpectedEdge> expected = {
      {0, 2, true, 0, 1, {}},      {1, 2, true, 0, 1, {}},       // added up
      {2, 0, false, 0, 2, {0, 1}}, {2, 1, false, 1, 2, {0, 1}},  // the sums to their owners
      {0, 3, false, 0, 2, {2}},    {1, 3, false, 1, 2, {3}},     // back
      {3, 0, false, 0, 1, {4, 5}}, {3, 1, false, 0, 1, {4, 5}},  // to all
  };
  const auto& edges = schedule.stages[0].channels[0].edges;
  ASSERT_EQ(edges.size(), expected.size());
  for (std::size_t i = 0; i < edges.size(); ++i) {
    testing::expect_edge(edges[i], expected[i], i);
  }
}

TEST(NvlsOf, OneRank) {
  EXPECT_TRUE(nvls(wiring_of(1, 1)).stages.empty());
  EXPECT_TRUE(nvls_tree(wiring_of(1, 1)).stages.empty());
}

struct Shape {
  int nodes, size;
};

class NvlsTree : public ::testing::TestWithParam<Shape> {
 protected:
  int nodes = GetParam().nodes;
  int size = GetParam().size;
  Wiring wiring = wiring_of(nodes, size);
  CollectiveSchedule schedule = nvls_tree(wiring);
};
INSTANTIATE_TEST_SUITE_P(Shapes, NvlsTree,
                         ::testing::Values(Shape{2, 1}, Shape{5, 1}, Shape{2, 2}, Shape{2, 4}, Shape{4, 4},
                                           Shape{3, 5}, Shape{5, 3}, Shape{8, 8}),
                         [](const auto& shape) {
                           return std::to_string(shape.param.nodes) + "x" + std::to_string(shape.param.size);
                         });

TEST_P(NvlsTree, IsRight) {
  EXPECT_EQ(error_of(schedule), "none");
}

// One stage of one pipeline: to the switch, to the owners, up and down the trees, to the switch, to all. The
// deeper tree has as many levels as M-1 has binary digits.
TEST_P(NvlsTree, Shape) {
  ASSERT_EQ(schedule.stages.size(), 1U);
  ASSERT_EQ(schedule.stages[0].channels.size(), 1U);
  const Channel& channel = schedule.stages[0].channels[0];
  EXPECT_EQ(channel.part.of, 1);
  int tree_edges = 4 * (nodes - 1), through_switch = nodes * (2 * size + 2);
  if (size == 1) {
    EXPECT_EQ(channel.edges.size(), std::size_t(tree_edges));
    EXPECT_EQ(channel.depth, 2 * std::bit_width(unsigned(nodes - 1)));
  } else {
    EXPECT_EQ(channel.edges.size(), std::size_t(size * (tree_edges + through_switch)));
    EXPECT_EQ(channel.depth, 4 + 2 * std::bit_width(unsigned(nodes - 1)));
  }
}

// The ways through the switch are those of nvls; a node of one rank has no need of it.
TEST_P(NvlsTree, BytesThroughTheSwitch) {
  if (size > 1) {
    expect_switch_bytes(schedule, wiring, size);
  } else {
    for (auto [link, bytes] : bytes_by_link(schedule, Bytes(1e6)))
      EXPECT_LT(link, wiring.ranks * wiring.ranks);
  }
}

// Between nodes a double binary tree over S/g: at most twice that from each rank, and on average
// 2 (M-1)/M S/g over M nodes.
TEST_P(NvlsTree, BytesBetweenNodes) {
  Bytes S(26214400);
  double sum = 0;
  for (int rank = 0; rank < wiring.ranks; ++rank) {
    double sent = bytes_sent(schedule, wiring, rank, S);
    EXPECT_LE(sent, 2 * S.value() / size * (1 + 1e-12));
    sum += sent;
  }
  EXPECT_NEAR(sum / wiring.ranks, 2.0 * (nodes - 1) / nodes * S.value() / size, 1e-6 * S.value());
}

// Two trees a shard join the ranks that own it, those at one local position, each tree on half of the shard.
TEST_P(NvlsTree, TreesJoinLocalPositions) {
  std::vector<int> edges(size);  // by shard
  for (const auto& edge : schedule.stages[0].channels[0].edges)
    for (int link : edge.route)
      if (link < wiring.ranks * wiring.ranks) {
        int from = link / wiring.ranks, to = link % wiring.ranks;
        EXPECT_NE(from / size, to / size);
        EXPECT_EQ(edge.piece.of, 2 * size);
        int shard = edge.piece.index / 2;
        EXPECT_EQ(from % size, shard);
        EXPECT_EQ(to % size, shard);
        ++edges[shard];
      }
  for (int shard_edges : edges) EXPECT_EQ(shard_edges, 4 * (nodes - 1));
}

// Two nodes of two ranks, the first of two shards, whose owners are ranks 0 and 2. The switches add up in
// vertices 4 and 6 and multicast from 5 and 7; 8 and 10 are where ranks 0 and 2 add up the sums of the nodes,
// the first tree towards rank 0, the second towards rank 2.
TEST(NvlsTreeOf, TwoNodesOfTwo) {
  auto schedule = nvls_tree(wiring_of(2, 2));
  std::vector<testing::ExpectedEdge> expected = {
      {0, 4, true, 0, 2, {}},          {1, 4, true, 0, 2, {}},       {4, 8, true, 0, 2, {0, 1}},   // node 0
      {2, 6, true, 0, 2, {}},          {3, 6, true, 0, 2, {}},       {6, 10, true, 0, 2, {3, 4}},  // node 1
      {10, 8, true, 0, 4, {5}},        {8, 10, false, 0, 4, {2, 6}},  // first tree
      {8, 10, true, 1, 4, {2}},        {10, 8, false, 1, 4, {5, 8}},  // second tree
      {8, 5, false, 0, 2, {2, 6, 9}},  {5, 0, false, 0, 2, {10}},    {5, 1, false, 0, 2, {10}},  // node 0
      {10, 7, false, 0, 2, {7, 5, 8}}, {7, 2, false, 0, 2, {13}},    {7, 3, false, 0, 2, {13}},  // node 1
  };
  const auto& edges = schedule.stages[0].channels[0].edges;
  ASSERT_EQ(edges.size(), 2 * expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    testing::expect_edge(edges[i], expected[i], i);
  }
}

// 64 MiB on two nodes of eight: shards of 8 MiB are 32 chunks of 256 KiB (three levels of a tree want 24 of
// at least 128 KiB). An edge has one of six levels, so there are 37 rounds. All shards to the switch, or all
// from it, take 0.5 us + 8 x 256 KiB / 200 GB/s = 10.98576 us: the first two rounds and the last two. Up
// alone or down alone is half a chunk on a NIC, 5 us + 128 KiB / 12.5 GB/s = 15.48576 us, in rounds 2 and 34;
// up and down at once, one tree's each, are 5 us + 256 KiB / 12.5 GB/s = 25.97152 us, in the 31 rounds
// between. The NIC's 8 MiB take 671.08864 us.
TEST(NvlsTreeTime, ByHand) {
  auto schedule = nvls_tree(two_levels(16));
  auto plan = fold({{{&schedule, 0}}, {}, two_level_capacity});
  CollectiveTime time(plan.groups.at(0).plan, plan.links);
  EXPECT_NEAR(time(Bytes(64 * 1048576.0)).value(), (4 * 10.98576 + 2 * 15.48576 + 31 * 25.97152) * 1e-6,
              1e-13);
}

class NvlsTrees : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Nodes, NvlsTrees, ::testing::Range(1, 10), ::testing::PrintToStringParamName());

TEST_P(NvlsTrees, OfAllSizesAreRight) {
  for (int size = 1; size <= 8; ++size)
    EXPECT_EQ(error_of(nvls_tree(wiring_of(GetParam(), size))), "none") << size;
}

// The verifier knows what may go wrong without any one input. What the root of one tree sends back waits for
// what it has fetched twice over: in the other tree it waits for the sum that this is in.
TEST(NvlsTreeOf, AnyMissingInputIsFound) {
  auto right = nvls_tree(wiring_of(3, 2));
  const int first_sum = 6 + 2 * 3;
  const auto& edges = right.stages[0].channels[0].edges;
  int twice_over = 0;
  for (std::size_t e = 0; e < edges.size(); ++e)
    for (std::size_t i = 0; i < edges[e].inputs.size(); ++i) {
      bool sends_back = edges[e].from >= first_sum && edges[e].to < first_sum;
      auto schedule = right;
      auto& inputs = schedule.stages[0].channels[0].edges[e].inputs;
      bool is_fetched = edges[inputs[i]].from < first_sum;
      inputs.erase(inputs.begin() + std::ptrdiff_t(i));
      if (sends_back && is_fetched)
        ++twice_over;
      else
        EXPECT_NE(error_of(schedule), "none") << e << " " << i;
    }
  EXPECT_EQ(twice_over, 2 * 2);  // two roots a shard
}

TEST(NvlsErrors, SeveralNodes) {
  EXPECT_EQ(message_of([] { nvls(wiring_of(4, 2)); }),
            "error: nvls stays within one node; these ranks are on 4\nhint: choose nvls_tree");
}

TEST(NvlsErrors, NoSwitch) {
  auto wiring = wiring_of(1, 4);
  wiring.to_switch = nullptr;
  EXPECT_EQ(
      message_of([&] { nvls(wiring); }),
      "error: nvls needs a switch in each node that reduces and multicasts (NVLink SHARP)\n"
      "hint: give every node such a switch (multicast: true) with unbroken links, or choose ring or tree");
  EXPECT_EQ(
      message_of([&] { nvls_tree(wiring); }),
      "error: nvls_tree needs a switch in each node that reduces and multicasts (NVLink SHARP)\n"
      "hint: give every node such a switch (multicast: true) with unbroken links, or choose ring or tree");
}

TEST(NvlsErrors, NodesOfDifferentSizes) {
  EXPECT_EQ(message_of([] {
              nvls_tree(wiring_of({4, 3}));
            }),
            "error: nvls_tree needs the same number of ranks in every node; node 0 has 4, node 1 has 3\n"
            "hint: choose a world size that fills every node, or ring, which takes any");
}

}  // namespace
}  // namespace ddpsim
