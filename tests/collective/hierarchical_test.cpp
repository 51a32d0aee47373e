#include <gtest/gtest.h>

#include "sim/base/check.hpp"
#include "sim/base/source.hpp"
#include "sim/collective/algorithms.hpp"
#include "sim/collective/verify.hpp"

#include "tests/collective/wirings.hpp"

namespace ddpsim {
namespace {

using testing::bytes_sent;
using testing::some_orders;
using testing::wiring_of;

using Orders = std::vector<std::vector<std::vector<int>>>;

std::string error_of(const CollectiveSchedule& schedule) {
  return find_schedule_error(schedule).value_or("none");
}

struct Shape {
  int nodes, size;
};

class Hierarchical : public ::testing::TestWithParam<Shape> {
 protected:
  int nodes = GetParam().nodes;
  int size = GetParam().size;
  Wiring wiring = wiring_of(nodes, size);
  [[nodiscard]] CollectiveSchedule same_orders(int channels) const {
    return hierarchical(wiring, Orders(nodes, some_orders(size, channels)));
  }
};
INSTANTIATE_TEST_SUITE_P(Shapes, Hierarchical,
                         ::testing::Values(Shape{1, 1}, Shape{1, 2}, Shape{1, 8}, Shape{2, 1}, Shape{8, 1},
                                           Shape{2, 2}, Shape{2, 4}, Shape{4, 2}, Shape{4, 4}, Shape{3, 5},
                                           Shape{5, 3}, Shape{7, 4}, Shape{8, 8}),
                         [](const auto& shape) {
                           return std::to_string(shape.param.nodes) + "x" + std::to_string(shape.param.size);
                         });

TEST_P(Hierarchical, IsRight) {
  for (int channels : {1, 2}) EXPECT_EQ(error_of(same_orders(channels)), "none") << channels;
}

// Every node has its own orders, so that the same shard is at different local positions.
TEST_P(Hierarchical, IsRightWithDifferentOrders) {
  Orders orders;
  for (int node = 0; node < nodes; ++node) {
    orders.push_back(some_orders(size, node + 2));
    orders.back().erase(orders.back().begin(), orders.back().begin() + node);
  }
  EXPECT_EQ(error_of(hierarchical(wiring, orders)), "none");
}

// Within the node, a ring of g ranks: 2 (g-1)/g S, and of the rest, S/g, an all-reduce over a ring of M
// nodes: 2 (M-1)/M S/g through each rank's NIC, however many channels share it.
TEST_P(Hierarchical, BytesPerRank) {
  Bytes S(26214400);
  auto same_node = [this](int from, int to) { return from / size == to / size; };
  auto other_node = [this](int from, int to) { return from / size != to / size; };
  for (int channels : {1, 2}) {
    auto schedule = same_orders(channels);
    for (int rank = 0; rank < nodes * size; ++rank) {
      EXPECT_NEAR(bytes_sent(schedule, wiring, rank, S, same_node), 2.0 * (size - 1) / size * S.value(),
                  1e-6);
      EXPECT_NEAR(bytes_sent(schedule, wiring, rank, S, other_node),
                  2.0 * (nodes - 1) / nodes * S.value() / size, 1e-6);
    }
  }
}

// With the same order everywhere, a rail joins the ranks at one local position.
TEST_P(Hierarchical, RailsJoinLocalPositions) {
  auto schedule = same_orders(2);
  for (const auto& stage : schedule.stages) {
    if (stage.operation != Operation::all_reduce) continue;
    ASSERT_EQ(stage.channels.size(), std::size_t(2 * size));
    for (const auto& rail : stage.channels)
      for (const auto& edge : rail.edges) EXPECT_EQ(edge.from % size, edge.to % size);
  }
}

TEST_P(Hierarchical, Stages) {
  auto schedule = same_orders(1);
  EXPECT_EQ(schedule.algorithm, "hierarchical");
  std::vector<Operation> expected;
  if (size > 1) expected.push_back(Operation::reduce_scatter);
  if (nodes > 1) expected.push_back(Operation::all_reduce);
  if (size > 1) expected.push_back(Operation::all_gather);
  ASSERT_EQ(schedule.stages.size(), expected.size());
  for (std::size_t s = 0; s < expected.size(); ++s) EXPECT_EQ(schedule.stages[s].operation, expected[s]);
}

// Two nodes of two, one forwards, one backwards: node 0's ring position 0 is rank 0, node 1's is rank 3.
// Position p ends with half p+1, so 0 and 3 meet on half 1, and 1 and 2 on half 0.
TEST(HierarchicalRails, JoinWhatHoldsTheSameShard) {
  auto schedule = hierarchical(wiring_of(2, 2), {{{0, 1}}, {{1, 0}}});
  const auto& rails = schedule.stages[1].channels;
  ASSERT_EQ(rails.size(), 2U);
  EXPECT_EQ(rails[0].edges[0].from, 0);
  EXPECT_EQ(rails[0].edges[0].to, 3);
  EXPECT_EQ(rails[0].part.index, 1);
  EXPECT_EQ(rails[0].part.of, 2);
  EXPECT_EQ(rails[1].edges[0].from, 1);
  EXPECT_EQ(rails[1].edges[0].to, 2);
  EXPECT_EQ(rails[1].part.index, 0);
}

// 8,192 nodes of eight, one channel: a ring of eight edges in each node, twice, and eight rails.
TEST(HierarchicalRails, ManyRanks) {
  auto wiring = wiring_of(8192, 8);
  wiring.path = [](int from, int) { return Path{{from}, Seconds(5e-6), BytesPerSecond(12.5e9)}; };
  auto schedule = hierarchical(wiring, Orders(8192, some_orders(8, 1)));
  ASSERT_EQ(schedule.stages.size(), 3U);
  EXPECT_EQ(schedule.stages[0].channels.size(), 8192U);
  EXPECT_EQ(schedule.stages[1].channels.size(), 8U);
  EXPECT_EQ(schedule.stages[1].channels[0].edges.size(), 8192U);
}

TEST(HierarchicalErrors, NodesOfDifferentSizes) {
  try {
    hierarchical(wiring_of({8, 8, 8, 4}), Orders(4, some_orders(8, 1)));
    FAIL() << "accepted";
  } catch (const InputError& error) {
    EXPECT_STREQ(
        error.what(),
        "error: hierarchical needs the same number of ranks in every node; node 0 has 8, node 3 has 4\n"
        "hint: choose a world size that fills every node, or ring, which takes any");
  }
}

TEST(HierarchicalErrors, OrdersThatDoNotFit) {
  auto wiring = wiring_of(2, 2);
  EXPECT_THROW(hierarchical(wiring, {{{0, 1}}}), InternalError);
  EXPECT_THROW(hierarchical(wiring, {{{0, 1}}, {{0, 0}}}), InternalError);
  EXPECT_THROW(hierarchical(wiring, {{{0, 1}}, {{0, 1}, {1, 0}}}), InternalError);
  EXPECT_THROW(hierarchical(wiring, {{}, {}}), InternalError);
}

}  // namespace
}  // namespace ddpsim
