// The verifier finds what is wrong with pipelines: trees, chains and what goes through a switch.
#include <algorithm>

#include <gtest/gtest.h>

#include "sim/collective/verify.hpp"

#include "tests/collective/broken_schedules.hpp"

namespace ddpsim {
namespace {

using testing::channel;
using testing::error_of;
using testing::some_orders;
using testing::wiring_of;

class VerifyPipelines : public ::testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, VerifyPipelines, ::testing::Range(2, 18),
                         ::testing::PrintToStringParamName());

// The first tree of four: 0 <- 2 <- {1, 3}; edges 0, 1, 2 up from 1, 2, 3, edges 3, 4, 5 down to them, with
// the first half of each chunk. Edges 6 ... 11: the second, 3 <- 1 <- {0, 2}, with the other half.
CollectiveSchedule tree_of_four() {
  return double_binary_tree(wiring_of(1, 4));
}

// Rank 2 would send its sum up while 3's contribution may not be in it yet.
TEST(VerifyPipeline, AMissingInput) {
  auto schedule = tree_of_four();
  channel(schedule).edges[1].inputs = {0};
  EXPECT_EQ(error_of(schedule),
            "stage 0, channel 0: edge 1 may pass on a chunk before edge 2 has delivered it to rank 2");
}

// The root would send down what it has (edge 4), and rank 2 that on to rank 1 (edge 3), perhaps before rank 1
// has sent its own up (edge 0).
TEST(VerifyPipeline, ARootThatDoesNotWait) {
  auto schedule = tree_of_four();
  channel(schedule).edges[4].inputs.clear();
  EXPECT_EQ(error_of(schedule),
            "stage 0, channel 0: edge 0 may pass on a chunk before edge 3 has delivered it to rank 1");
}

// Takes away each input of each edge, one at a time.
void expect_every_missing_input_is_found(CollectiveSchedule right) {
  for (std::size_t e = 0; e < channel(right).edges.size(); ++e)
    for (std::size_t i = 0; i < channel(right).edges[e].inputs.size(); ++i) {
      auto schedule = right;
      auto& inputs = channel(schedule).edges[e].inputs;
      inputs.erase(inputs.begin() + std::ptrdiff_t(i));
      EXPECT_NE(error_of(schedule), "none") << e << " " << i;
    }
}

// In any tree, without any one input.
TEST_P(VerifyPipelines, AnyMissingInputOfATreeIsFound) {
  expect_every_missing_input_is_found(double_binary_tree(wiring_of(1, GetParam())));
}

// A sum that is handed down with reduce is added to the receiver's own part of it: edge 4 adds the sum at the
// root to what rank 2 has sent up, 1 + 2 + 3; rank 1 then gets that, with itself twice.
TEST(VerifyPipeline, ReduceInsteadOfCopy) {
  auto schedule = tree_of_four();
  channel(schedule).edges[4].reduce = true;
  EXPECT_EQ(error_of(schedule), "rank 1, piece 0 of 2: contribution of rank 1 counted 2 times");
}

// The root's own contribution is overwritten by rank 2's sum; sent back to rank 2, that is nothing new.
TEST(VerifyPipeline, CopyInsteadOfReduce) {
  auto schedule = tree_of_four();
  channel(schedule).edges[1].reduce = false;
  EXPECT_EQ(error_of(schedule), "stage 0, channel 0: edge 4 changes nothing");
}

TEST_P(VerifyPipelines, AnyWrongReduceOfATreeIsFound) {
  auto right = double_binary_tree(wiring_of(1, GetParam()));
  for (std::size_t e = 0; e < channel(right).edges.size(); ++e) {
    auto schedule = right;
    auto& edge = channel(schedule).edges[e];
    edge.reduce = !edge.reduce;
    EXPECT_NE(error_of(schedule), "none") << e;
  }
}

// An edge of one tree with the other's half.
TEST_P(VerifyPipelines, AnyWrongPieceOfATreeIsFound) {
  auto right = double_binary_tree(wiring_of(1, GetParam()));
  for (std::size_t e = 0; e < channel(right).edges.size(); ++e) {
    auto schedule = right;
    auto& piece = channel(schedule).edges[e].piece;
    piece.index = 1 - piece.index;
    EXPECT_NE(error_of(schedule), "none") << e;
  }
}

// Without edge 11, which nothing waits for, rank 2 keeps its own of the second half.
TEST(VerifyPipeline, AMissingEdge) {
  auto schedule = tree_of_four();
  channel(schedule).edges.pop_back();
  EXPECT_EQ(error_of(schedule), "rank 2, piece 1 of 2: contribution of rank 0 counted 0 times");
}

TEST(VerifyPipeline, WithoutEdges) {
  auto schedule = tree_of_four();
  channel(schedule).edges.clear();
  EXPECT_EQ(error_of(schedule), "stage 0, channel 0: a pipeline without edges");
}

// Of two channels, the second on the first's half.
TEST(VerifyPipeline, AWrongPart) {
  auto schedule = double_binary_tree(wiring_of(1, 4), 2);
  channel(schedule, 0, 1).part = {0, 2};
  EXPECT_EQ(error_of(schedule),
            "stage 0: channels 0 and 1 both work on piece 0 of 4 between rank 1 and rank 2");
  channel(schedule, 0, 1).part = {2, 2};
  EXPECT_EQ(error_of(schedule), "stage 0, channel 1: part 2 of 2 of the buffer");
}

// Both trees on the first half: edge 6 brings rank 1 what it may have sent up already.
TEST(VerifyPipeline, BothTreesOnOneHalf) {
  auto schedule = tree_of_four();
  for (std::size_t e = 6; e < 12; ++e) channel(schedule).edges[e].piece = {0, 2};
  EXPECT_EQ(error_of(schedule),
            "stage 0, channel 0: edge 0 may pass on a chunk before edge 6 has delivered it to rank 1");
}

// Edge 1 has no need of edge 11's half; waiting for it puts one tree after the other: 0 -> 1 -> 3 -> 1 -> 2
// -> 0 -> 2 -> 1.
TEST(VerifyPipeline, ATreeThatWaitsForTheOther) {
  auto schedule = tree_of_four();
  channel(schedule).edges[1].inputs.push_back(11);
  EXPECT_EQ(error_of(schedule), "stage 0, channel 0: its longest path has 7 edges, its depth says 4");
}

TEST(VerifyPipeline, InputsThatMakeNoSense) {
  auto out_of_range = tree_of_four();
  channel(out_of_range).edges[1].inputs = {0, 12};
  EXPECT_EQ(error_of(out_of_range), "stage 0, channel 0: edge 1 waits for edge 12 of 12");
  // Edge 3 leads to rank 1, edge 1 from rank 2.
  auto elsewhere = tree_of_four();
  channel(elsewhere).edges[1].inputs.push_back(3);
  EXPECT_EQ(error_of(elsewhere),
            "stage 0, channel 0: edge 1 waits for edge 3, which leads to rank 1, not to rank 2");
  // Edge 1 (2 -> 0) waits for edge 4 (0 -> 2), that for edge 1, and edges 3 and 5 for edge 4.
  auto circle = tree_of_four();
  channel(circle).edges[1].inputs.push_back(4);
  EXPECT_EQ(error_of(circle), "stage 0, channel 0: 4 edges wait for each other");
}

TEST(VerifyPipeline, EdgesThatMakeNoSense) {
  auto loop = tree_of_four();
  channel(loop).edges[0].to = 1;
  EXPECT_EQ(error_of(loop), "stage 0, channel 0: edge 0 leads from rank 1 to itself");
  auto negative = tree_of_four();
  channel(negative).edges[0].from = -1;
  EXPECT_EQ(error_of(negative), "stage 0, channel 0: edge 0 leads from rank -1 to rank 2");
  auto piece = tree_of_four();
  channel(piece).edges[0].piece = {3, 3};
  EXPECT_EQ(error_of(piece), "stage 0, channel 0: edge 0 carries piece 3 of 3");
}

// The number of chunks follows from the depth, so it has to be true: 1 -> 2 -> 0 -> 2 -> 1 has four edges.
TEST(VerifyPipeline, AWrongDepth) {
  auto schedule = tree_of_four();
  channel(schedule).depth = 3;
  EXPECT_EQ(error_of(schedule), "stage 0, channel 0: its longest path has 4 edges, its depth says 3");
}

// A quarter of a chunk from rank 1: rank 2 misses it in the other quarter of the first half.
TEST(VerifyPipeline, AnEdgeThatCarriesTooLittle) {
  auto schedule = tree_of_four();
  channel(schedule).edges[0].piece = {0, 4};
  EXPECT_EQ(error_of(schedule), "rank 0, piece 1 of 4: contribution of rank 1 counted 0 times");
}

// A chain that runs on to where it came from; rank 2 and rank 0 have the same by then.
TEST(VerifyPipeline, AnEdgeInVain) {
  auto schedule = chain(Operation::broadcast, wiring_of(1, 3), some_orders(3, 1));
  Edge back = channel(schedule).edges[1];
  back.from = 2;
  back.to = 0;
  back.inputs = {1};
  channel(schedule).edges.push_back(back);
  channel(schedule).depth = 3;
  EXPECT_EQ(error_of(schedule), "stage 0, channel 0: edge 2 changes nothing");
}

// A switch starts empty, so the first edge of a schedule cannot lead from it.
TEST(VerifySwitch, WhatItDoesNotHave) {
  Channel down{Pattern::pipeline, {}, {{2, 0, {}, Seconds(0), BytesPerSecond(1)}}, 1};
  CollectiveSchedule schedule{"", Operation::all_reduce, 2, {{Operation::all_reduce, {down}}}};
  EXPECT_EQ(error_of(schedule),
            "stage 0, channel 0: edge 0 passes on piece 0 of 1, which nothing has delivered to switch 0");
}

// Two ranks under a switch: edges 0, 1 up; 2, 3 the sums down; 4, 5 back up; 6, 7 to all.
// The switch would hand out rank 0's shard before rank 1's has come.
TEST(VerifySwitch, AMissingInput) {
  auto schedule = nvls(wiring_of(1, 2));
  channel(schedule).edges[6].inputs = {4};
  EXPECT_EQ(error_of(schedule),
            "stage 0, channel 0: edge 6 may pass on a chunk before edge 5 has delivered it to switch 1");
}

// Both owners fetch half 0: what rank 1 then multicasts as half 1 is only its own, so that it learns nothing
// from the switch (edge 7): half 0 it has fetched, half 1 it has sent.
TEST(VerifySwitch, TheWrongShard) {
  auto schedule = nvls(wiring_of(1, 2));
  channel(schedule).edges[3].piece = {0, 2};
  EXPECT_EQ(error_of(schedule), "stage 0, channel 0: edge 7 changes nothing");
}

TEST_P(VerifyPipelines, AnyMissingInputOfASwitchIsFound) {
  expect_every_missing_input_is_found(nvls(wiring_of(1, GetParam())));
}

// The second rank's up edge copies over what the first has sent, or the other way round.
TEST(VerifySwitch, CopyInsteadOfReduce) {
  auto schedule = nvls(wiring_of(1, 2));
  channel(schedule).edges[1].reduce = false;
  EXPECT_EQ(error_of(schedule),
            "stage 0, channel 0: edges 0 and 1 may deliver the same chunk to switch 0 in either order");
}

}  // namespace
}  // namespace ddpsim
