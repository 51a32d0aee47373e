#include <gtest/gtest.h>

#include "sim/base/check.hpp"
#include "sim/collective/algorithms.hpp"
#include "sim/collective/fold.hpp"
#include "sim/collective/link_load.hpp"
#include "sim/collective/time_alone.hpp"
#include "sim/collective/verify.hpp"

#include "tests/collective/wirings.hpp"

namespace ddpsim {
namespace {

using testing::wiring_of;

std::string error_of(const CollectiveSchedule& schedule) {
  return find_schedule_error(schedule).value_or("none");
}

TEST(AllToAll, IsRight) {
  for (int n = 1; n < 20; ++n)
    EXPECT_EQ(error_of(direct(Operation::all_to_all, wiring_of(1, n))), "none") << n;
  EXPECT_EQ(direct(Operation::all_to_all, wiring_of(1, 5)).stages[0].channels[0].edges.size(), 20U);
}

TEST(AllToAll, VerifierSeesWhatIsMissingTwiceOrMisplaced) {
  auto missing = direct(Operation::all_to_all, wiring_of(1, 3));
  missing.stages[0].channels[0].edges.pop_back();
  EXPECT_EQ(error_of(missing), "rank 2 sends rank 1 its piece 0 times");
  auto twice = direct(Operation::all_to_all, wiring_of(1, 3));
  twice.stages[0].channels[0].edges.push_back(twice.stages[0].channels[0].edges[0]);
  EXPECT_EQ(error_of(twice), "rank 0 sends rank 1 its piece 2 times");
  auto wrong = direct(Operation::all_to_all, wiring_of(1, 3));
  wrong.stages[0].channels[0].edges[0].piece = {2, 3};
  EXPECT_EQ(error_of(wrong), "rank 0 sends rank 1 piece 2 of 3");
  auto waits = direct(Operation::all_to_all, wiring_of(1, 3));
  waits.stages[0].channels[0].edges[0].inputs = {4};
  EXPECT_EQ(error_of(waits), "the edge from rank 0 to rank 1 does more than send");
}

TEST(GatherAndScatter, AreRight) {
  for (auto operation : {Operation::gather, Operation::scatter})
    for (int n = 1; n < 20; ++n) EXPECT_EQ(error_of(direct(operation, wiring_of(1, n))), "none") << n;
  EXPECT_EQ(direct(Operation::gather, wiring_of(1, 5)).stages[0].channels[0].edges.size(), 4U);
}

TEST(GatherAndScatter, VerifierSeesWhatIsMisplaced) {
  auto wrong = direct(Operation::gather, wiring_of(1, 4));
  wrong.stages[0].channels[0].edges[0].piece = {3, 4};
  wrong.stages[0].channels[0].edges[2].piece = {1, 4};
  EXPECT_EQ(error_of(wrong), "rank 0, piece 1 of 4: contribution of rank 1 counted 0 times");
  auto missing = direct(Operation::scatter, wiring_of(1, 4));
  missing.stages[0].channels[0].edges.pop_back();
  EXPECT_EQ(error_of(missing), "rank 3, piece 3 of 4: contribution of rank 0 counted 0 times");
}

TEST(SendRecv, IsRightForTwoRanksOnly) {
  EXPECT_EQ(error_of(direct(Operation::send_recv, wiring_of(1, 2))), "none");
  EXPECT_THROW(direct(Operation::send_recv, wiring_of(1, 3)), InternalError);
}

// Four ranks, a way of 1 GB/s from each to the switch and from it: each link carries 3 of 4 quarters of 1 GB,
// so 0.75 s; in chunks of 512 KiB that changes nothing.
TEST(AllToAll, TakesWhatTheMostLoadedLinkTakes) {
  Wiring star;
  star.ranks = 4;
  star.nodes = {{0, 1, 2, 3}};
  star.path = [](int from, int to) { return Path{{from, 4 + to}, Seconds(0), BytesPerSecond(1e9)}; };
  auto schedule = direct(Operation::all_to_all, star);
  auto capacity = [](int) { return BytesPerSecond(1e9); };
  EXPECT_DOUBLE_EQ(heaviest_link(schedule, capacity).seconds_per_byte, 0.75e-9);
  auto plan = fold({{{&schedule, 0}}, {}, capacity});
  EXPECT_NEAR(CollectiveTime(plan.groups[0].plan, plan.links)(Bytes(1e9)).value(), 0.75, 1e-9);
  // A gather's root gets as much over its link, three quarters of what it holds in the end.
  EXPECT_DOUBLE_EQ(heaviest_link(direct(Operation::gather, star), capacity).seconds_per_byte, 0.75e-9);
  // All edges are alike: one flow stands for twelve.
  EXPECT_EQ(plan.groups[0].plan.stages[0].units[0].channels[0].flows.size(), 1U);
}

}  // namespace
}  // namespace ddpsim
