// The verifier finds what is wrong with rings, operations and stages. (That the algorithms' schedules are
// right: their own tests.)
#include "sim/collective/verify.hpp"

#include <algorithm>

#include <gtest/gtest.h>

#include "tests/collective/broken_schedules.hpp"

namespace ddpsim {
namespace {

using testing::channel;
using testing::error_of;
using testing::some_orders;
using testing::wiring_of;

CollectiveSchedule ring(int n) {
  return ring(Operation::all_reduce, wiring_of(1, n), some_orders(n, 1));
}

class Verify : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, Verify, ::testing::Range(2, 18), ::testing::PrintToStringParamName());

// Only half of the steps of an all-reduce: of four ranks, position p ends the reduce-scatter with chunk p+1
// and sent its own chunk p to others, where nothing came back: rank 0 holds of chunk 0 only its own.
TEST(VerifyRing, WithoutTheGatherSteps) {
  auto schedule = ring(4);
  schedule.stages[0].operation = Operation::reduce_scatter;
  EXPECT_EQ(error_of(schedule), "rank 0, piece 0 of 4: contribution of rank 1 counted 0 times");
}

// Chunks sent in the order of the all-gather from the start are copied and never summed: in step 0 rank 2
// sends its chunk 3 = 0 to rank 0, over rank 0's own.
TEST(VerifyRing, WithoutTheReduceSteps) {
  auto schedule = ring(3);
  schedule.stages[0].operation = Operation::all_gather;
  EXPECT_EQ(error_of(schedule), "rank 0, piece 0 of 3: contribution of rank 0 counted 0 times");
}

// All is done after the first stage; the first step of another all-gather copies finished chunks over
// finished chunks.
TEST_P(Verify, AStageInVain) {
  auto schedule = ring(GetParam());
  schedule.stages.push_back(schedule.stages[0]);
  schedule.stages[1].operation = Operation::all_gather;
  EXPECT_EQ(error_of(schedule), "stage 1, channel 0: step 0 changes nothing");
}

// Two ranks all-reduce twice: each then has the sum twice.
TEST(VerifyRing, AStageTwice) {
  auto schedule = ring(2);
  schedule.stages.push_back(schedule.stages[0]);
  EXPECT_EQ(error_of(schedule), "rank 0, piece 0 of 2: contribution of rank 0 counted 2 times");
}

TEST(VerifyRing, EdgesInTheWrongOrder) {
  auto schedule = ring(4);
  std::swap(channel(schedule).edges[1], channel(schedule).edges[2]);
  EXPECT_EQ(error_of(schedule), "stage 0, channel 0: edge 0 does not lead into the next");
}

TEST(VerifyRing, ThatDoesNotClose) {
  auto schedule = ring(4);
  channel(schedule).edges[3].to = 1;
  EXPECT_EQ(error_of(schedule), "stage 0, channel 0: edge 3 does not lead into the next");
}

TEST(VerifyRing, WithAnEdgeTooFew) {
  auto schedule = ring(4);
  channel(schedule).edges.pop_back();
  EXPECT_EQ(error_of(schedule), "stage 0, channel 0: edge 2 does not lead into the next");
  channel(schedule).edges.resize(1);
  EXPECT_EQ(error_of(schedule), "stage 0, channel 0: a ring of 1 edges");
}

// 0 -> 1 -> 0 -> 1 closes and has four edges, but ranks 2 and 3 are not on it.
TEST(VerifyRing, ThatVisitsARankTwice) {
  auto schedule = ring(4);
  for (int i = 0; i < 4; ++i) {
    channel(schedule).edges[i].from = i % 2;
    channel(schedule).edges[i].to = (i + 1) % 2;
  }
  EXPECT_EQ(error_of(schedule), "stage 0, channel 0: the ring visits rank 0 twice");
}

TEST(VerifyRing, WithARankThatDoesNotExist) {
  for (int rank : {-1, 4}) {
    auto schedule = ring(4);
    channel(schedule).edges[1].to = channel(schedule).edges[2].from = rank;
    EXPECT_EQ(error_of(schedule),
              "stage 0, channel 0: edge 2 starts at rank " + std::to_string(rank) + " of 4");
  }
}

// A ring over three of four ranks: rank 3 is left with its own.
TEST(VerifyRing, ThatLeavesARankOut) {
  auto schedule = ring(Operation::all_reduce, wiring_of(1, 3), some_orders(3, 1));
  schedule.ranks = 4;
  EXPECT_EQ(error_of(schedule), "rank 0, piece 0 of 3: contribution of rank 3 counted 0 times");
}

// With the second of two channels on the first's half, both work there and nobody does on the other; the
// second starts with the edge from rank 1.
TEST(VerifyRing, TwoChannelsOnOnePart) {
  auto schedule = ring(Operation::all_reduce, wiring_of(1, 2), {{0, 1}, {1, 0}});
  channel(schedule, 0, 1).part = {0, 2};
  EXPECT_EQ(error_of(schedule),
            "stage 0: channels 0 and 1 both work on piece 0 of 4 between rank 1 and rank 0");
}

// Three ranks, thirds of halves: piece 3 is the first of the second half.
TEST(VerifyRing, AChannelTooFew) {
  auto schedule = ring(Operation::all_reduce, wiring_of(1, 3), some_orders(3, 2));
  schedule.stages[0].channels.pop_back();
  EXPECT_EQ(error_of(schedule), "stage 0: no channel carries piece 3 of 6");
}

TEST(VerifyRing, APartOutOfBounds) {
  for (Part part : {Part{2, 2}, Part{-1, 2}, Part{0, 0}}) {
    auto schedule = ring(3);
    channel(schedule).part = part;
    EXPECT_EQ(error_of(schedule), "stage 0, channel 0: part " + std::to_string(part.index) + " of " +
                                      std::to_string(part.of) + " of the buffer");
  }
}

// A schedule that claims to be another operation.
std::string error_as(CollectiveSchedule schedule, Operation operation) {
  schedule.operation = operation;
  return error_of(schedule);
}

// What an all-reduce ring leaves is not scattered: with two ranks both have both halves of the sum.
TEST(VerifyOperation, AllReduceIsNoReduceScatter) {
  EXPECT_EQ(error_as(ring(2), Operation::reduce_scatter), "rank 0 owns 2 of 2 pieces, not 1");
}

TEST(VerifyOperation, ReduceScatterIsNoAllReduce) {
  EXPECT_EQ(
      error_as(ring(Operation::reduce_scatter, wiring_of(1, 3), some_orders(3, 1)), Operation::all_reduce),
      "rank 0, piece 0 of 3: contribution of rank 1 counted 0 times");
}

// A gather leaves every piece as one rank had it, so no sum anywhere.
TEST(VerifyOperation, AllGatherIsNoReduceScatter) {
  EXPECT_EQ(
      error_as(ring(Operation::all_gather, wiring_of(1, 3), some_orders(3, 1)), Operation::reduce_scatter),
      "no rank has all of piece 0 of 3");
}

// A broadcast hands out everything from one rank.
TEST(VerifyOperation, BroadcastIsNoAllGather) {
  EXPECT_EQ(error_as(chain(Operation::broadcast, wiring_of(1, 3), some_orders(3, 1)), Operation::all_gather),
            "rank 0 owns 3 of 3 pieces, not 1");
}

// In an all-gather ring of three, position p starts with chunk p+1, so chunk 0 is that of rank 2; in a
// broadcast all would be rank 0's.
TEST(VerifyOperation, AllGatherIsNoBroadcast) {
  EXPECT_EQ(error_as(ring(Operation::all_gather, wiring_of(1, 3), some_orders(3, 1)), Operation::broadcast),
            "rank 0, piece 0 of 3: contribution of rank 0 counted 0 times");
}

// In two nodes of two, position 0 ends the reduce-scatter with half 1 and position 1 with half 0. With the
// rails' halves exchanged, half 0 at rank 1 stays the sum of node 0, and rank 0 gathers it so: without ranks
// 2 and 3.
TEST(VerifyStages, RailsOnTheWrongShards) {
  auto schedule = hierarchical(wiring_of(2, 2), {{{0, 1}}, {{0, 1}}});
  std::swap(channel(schedule, 1, 0).part, channel(schedule, 1, 1).part);
  EXPECT_EQ(error_of(schedule), "rank 0, piece 0 of 4: contribution of rank 2 counted 0 times");
}

TEST(VerifyStages, AnyMissingStageIsFound) {
  auto wiring = wiring_of(2, 4);
  for (const auto& right :
       {halving_doubling(wiring), halving_doubling(wiring_of(1, 7)), nvls_tree(wiring),
        hierarchical(wiring, std::vector<std::vector<std::vector<int>>>(2, some_orders(4, 2)))})
    for (std::size_t s = 0; s < right.stages.size(); ++s) {
      auto schedule = right;
      schedule.stages.erase(schedule.stages.begin() + std::ptrdiff_t(s));
      EXPECT_NE(error_of(schedule), "none") << right.algorithm << " without stage " << s;
    }
}

TEST(VerifyStages, AnyMissingChannelIsFound) {
  auto wiring = wiring_of(2, 4);
  for (const auto& right :
       {halving_doubling(wiring), halving_doubling(wiring_of(1, 7)), nvls_tree(wiring),
        hierarchical(wiring, std::vector<std::vector<std::vector<int>>>(2, some_orders(4, 2)))})
    for (std::size_t s = 0; s < right.stages.size(); ++s)
      for (std::size_t c = 0; c < right.stages[s].channels.size(); ++c) {
        auto schedule = right;
        auto& channels = schedule.stages[s].channels;
        channels.erase(channels.begin() + std::ptrdiff_t(c));
        EXPECT_NE(error_of(schedule), "none") << right.algorithm << " without channel " << c << " of " << s;
      }
}

}  // namespace
}  // namespace ddpsim
