#include <numeric>

#include <gmock/gmock.h>
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

std::string error_of(const CollectiveSchedule& schedule) {
  return find_schedule_error(schedule).value_or("none");
}

class Ring : public ::testing::TestWithParam<int> {
 protected:
  int n = GetParam();
  Wiring wiring = wiring_of(1, n);
};
INSTANTIATE_TEST_SUITE_P(Ranks, Ring,
                         ::testing::Values(2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 32),
                         ::testing::PrintToStringParamName());

TEST_P(Ring, IsRight) {
  for (int channels : {1, 2, 3}) {
    auto orders = some_orders(n, channels);
    EXPECT_EQ(error_of(ring(Operation::all_reduce, wiring, orders)), "none") << channels;
    EXPECT_EQ(error_of(ring(Operation::reduce_scatter, wiring, orders)), "none") << channels;
    EXPECT_EQ(error_of(ring(Operation::all_gather, wiring, orders)), "none") << channels;
  }
}

TEST_P(Ring, ChainIsRight) {
  for (int channels : {1, 2, 3}) {
    auto orders = some_orders(n, channels);
    for (auto& order : orders)
      std::rotate(order.begin(), std::find(order.begin(), order.end(), 0), order.end());
    EXPECT_EQ(error_of(chain(Operation::broadcast, wiring, orders)), "none") << channels;
    EXPECT_EQ(error_of(chain(Operation::reduce, wiring, orders)), "none") << channels;
  }
}

// Of two channels, each on half of the buffer, the second runs backwards; every edge takes the pair's own
// link.
TEST_P(Ring, Shape) {
  std::vector<int> ascending(n);
  std::iota(ascending.begin(), ascending.end(), 0);
  auto schedule = ring(Operation::all_reduce, wiring, {ascending, {ascending.rbegin(), ascending.rend()}});
  EXPECT_EQ(schedule.algorithm, "ring");
  EXPECT_EQ(schedule.operation, Operation::all_reduce);
  EXPECT_EQ(schedule.ranks, n);
  ASSERT_EQ(schedule.stages.size(), 1U);
  EXPECT_EQ(schedule.stages[0].operation, Operation::all_reduce);
  ASSERT_EQ(schedule.stages[0].channels.size(), 2U);
  for (int c = 0; c < 2; ++c) {
    const Channel& channel = schedule.stages[0].channels[c];
    EXPECT_EQ(channel.pattern, Pattern::ring);
    EXPECT_EQ(channel.part.index, c);
    EXPECT_EQ(channel.part.of, 2);
    ASSERT_EQ(channel.edges.size(), std::size_t(n));
    for (int i = 0; i < n; ++i) {
      const Edge& edge = channel.edges[i];
      int from = c == 0 ? i : n - 1 - i, to = c == 0 ? (i + 1) % n : (2 * n - 2 - i) % n;
      EXPECT_EQ(edge.from, from);
      EXPECT_EQ(edge.to, to);
      EXPECT_THAT(edge.route, ::testing::ElementsAre(from * n + to));
      EXPECT_EQ(edge.latency, Seconds(5e-6));
      EXPECT_EQ(edge.bandwidth, BytesPerSecond(12.5e9));
    }
  }
}

// One chunk of S/n bytes in each of 2 (n-1) steps, the least an all-reduce can do (each rank must receive
// what the others' n-1 parts of the sum need, and send as much); half of that to reduce-scatter or
// all-gather. More channels share the same bytes.
TEST_P(Ring, BytesPerRank) {
  Bytes S(26214400);
  for (int channels : {1, 3}) {
    auto orders = some_orders(n, channels);
    for (int rank = 0; rank < n; ++rank) {
      double half = (n - 1.0) / n * S.value();
      EXPECT_NEAR(bytes_sent(ring(Operation::all_reduce, wiring, orders), wiring, rank, S), 2 * half, 1e-6);
      EXPECT_NEAR(bytes_sent(ring(Operation::reduce_scatter, wiring, orders), wiring, rank, S), half, 1e-6);
      EXPECT_NEAR(bytes_sent(ring(Operation::all_gather, wiring, orders), wiring, rank, S), half, 1e-6);
    }
  }
}

// A chain of n ranks has n-1 edges one after the other; each but the last rank passes on the whole buffer.
TEST_P(Ring, ChainPassesEverythingOn) {
  Bytes S(26214400);
  auto schedule = chain(Operation::broadcast, wiring, some_orders(n, 1));
  EXPECT_EQ(schedule.algorithm, "chain");
  EXPECT_EQ(schedule.stages[0].channels[0].depth, n - 1);
  for (int rank = 0; rank < n; ++rank)
    EXPECT_NEAR(bytes_sent(schedule, wiring, rank, S), rank < n - 1 ? S.value() : 0, 1e-6);
}

TEST(Rings, SixtyFourRanksAreRight) {
  EXPECT_EQ(error_of(ring(Operation::all_reduce, wiring_of(8, 8), some_orders(64, 2))), "none");
}

TEST(Rings, OneRankHasNothingToDo) {
  for (const auto& schedule : {ring(Operation::all_reduce, wiring_of(1, 1), {{0}}),
                               chain(Operation::broadcast, wiring_of(1, 1), {{0}})}) {
    EXPECT_TRUE(schedule.stages.empty());
    EXPECT_EQ(error_of(schedule), "none");
  }
}

TEST(Rings, OrdersMustVisitEveryRankOnce) {
  auto wiring = wiring_of(1, 3);
  for (const auto& order :
       std::vector<std::vector<int>>{{0, 1}, {0, 1, 1}, {0, 1, 3}, {0, 1, -1}, {0, 1, 2, 0}})
    EXPECT_THROW(ring(Operation::all_reduce, wiring, {order}), InternalError);
  EXPECT_THROW(ring(Operation::all_reduce, wiring, {}), InternalError);
  EXPECT_THROW(chain(Operation::broadcast, wiring, {{0, 1, 2}, {1, 0, 2}}), InternalError);  // two roots
}

// Where there is no way between two ranks, the wiring says so.
TEST(Rings, NoWay) {
  auto wiring = wiring_of(1, 3);
  wiring.path = [](int, int) -> Path { throw InputError("no way"); };
  EXPECT_THROW(ring(Operation::all_reduce, wiring, {{0, 1, 2}}), InputError);
}

// A ring of 65,536 ranks is as many edges, no more.
TEST(Rings, ManyRanks) {
  int n = 65536;
  Wiring wiring;
  wiring.ranks = n;
  wiring.path = [](int from, int) { return Path{{from}, Seconds(5e-6), BytesPerSecond(12.5e9)}; };
  auto schedule = ring(Operation::all_reduce, wiring, some_orders(n, 1));
  ASSERT_EQ(schedule.stages[0].channels[0].edges.size(), std::size_t(n));
  EXPECT_EQ(schedule.stages[0].channels[0].edges.back().to, 0);
}

}  // namespace
}  // namespace ddpsim
