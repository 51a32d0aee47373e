#include <gtest/gtest.h>

#include "sim/base/source.hpp"
#include "sim/collective/algorithms.hpp"
#include "sim/collective/verify.hpp"

#include "tests/collective/wirings.hpp"

namespace ddpsim {
namespace {

using testing::bytes_by_link;
using testing::bytes_sent;
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
  struct Expected {
    int from, to;
    bool reduce;
    int piece, of;
    std::vector<int> inputs;
  };
  std::vector<Expected> expected = {
      {0, 2, true, 0, 1, {}},      {1, 2, true, 0, 1, {}},       // added up
      {2, 0, false, 0, 2, {0, 1}}, {2, 1, false, 1, 2, {0, 1}},  // the sums to their owners
      {0, 3, false, 0, 2, {2}},    {1, 3, false, 1, 2, {3}},     // back
      {3, 0, false, 0, 1, {4, 5}}, {3, 1, false, 0, 1, {4, 5}},  // to all
  };
  const auto& edges = schedule.stages[0].channels[0].edges;
  ASSERT_EQ(edges.size(), expected.size());
  for (std::size_t i = 0; i < edges.size(); ++i) {
    EXPECT_EQ(edges[i].from, expected[i].from) << i;
    EXPECT_EQ(edges[i].to, expected[i].to) << i;
    EXPECT_EQ(edges[i].reduce, expected[i].reduce) << i;
    EXPECT_EQ(edges[i].piece.index, expected[i].piece) << i;
    EXPECT_EQ(edges[i].piece.of, expected[i].of) << i;
    EXPECT_EQ(edges[i].inputs, expected[i].inputs) << i;
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

// The two ways through the switch are those of nvls, in two stages; a node of one rank has no need of it.
TEST_P(NvlsTree, BytesThroughTheSwitch) {
  if (size > 1) {
    expect_switch_bytes(schedule, wiring, size);
  } else {
    EXPECT_EQ(schedule.stages.size(), 1U);
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

// Two trees in one channel join the ranks that hold the same shard: those at one local position.
TEST_P(NvlsTree, TreesJoinLocalPositions) {
  const Stage& between = schedule.stages[size > 1 ? 1 : 0];
  ASSERT_EQ(between.channels.size(), std::size_t(size));
  for (int c = 0; c < size; ++c) {
    EXPECT_EQ(between.channels[c].part.index, c);
    EXPECT_EQ(between.channels[c].part.of, size);
    for (const auto& edge : between.channels[c].edges) {
      EXPECT_EQ(edge.from % size, c);
      EXPECT_EQ(edge.to % size, c);
      EXPECT_EQ(edge.piece.of, 2);
    }
  }
}

TEST(NvlsErrors, SeveralNodes) {
  EXPECT_EQ(message_of([] { nvls(wiring_of(4, 2)); }),
            "error: nvls stays within one node; these ranks are on 4\nhint: choose nvls_tree");
}

TEST(NvlsErrors, NoSwitch) {
  auto wiring = wiring_of(1, 4);
  wiring.to_switch = nullptr;
  EXPECT_EQ(message_of([&] { nvls(wiring); }),
            "error: nvls needs a switch in each node that reduces and multicasts (NVLink SHARP)\n"
            "hint: give every node such a switch (multicast: true) with unbroken links, or choose ring or tree");
  EXPECT_EQ(message_of([&] { nvls_tree(wiring); }),
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
