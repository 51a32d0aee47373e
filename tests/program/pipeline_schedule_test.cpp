// Orders of a pipeline of four ranks and eight micro-batches, and what they hold.
#include "sim/program/pipeline_schedule.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/base/source.hpp"

namespace ddpsim::testing {
namespace {

using ::testing::ElementsAre;

std::vector<std::string> orders(PipelineSchedule schedule, int chunks) {
  std::vector<std::string> texts;
  for (const auto& order : pipeline_order({schedule, 4, chunks, 8})) texts.push_back(order_text(order));
  return texts;
}

TEST(PipelineSchedule, GPipe) {
  EXPECT_THAT(orders(PipelineSchedule::gpipe, 1),
              ElementsAre("F0 F1 F2 F3 F4 F5 F6 F7 B0 B1 B2 B3 B4 B5 B6 B7",
                          "F0 F1 F2 F3 F4 F5 F6 F7 B0 B1 B2 B3 B4 B5 B6 B7",
                          "F0 F1 F2 F3 F4 F5 F6 F7 B0 B1 B2 B3 B4 B5 B6 B7",
                          "F0 F1 F2 F3 F4 F5 F6 F7 B0 B1 B2 B3 B4 B5 B6 B7"));
}

// p - r - 1 forward passes first.
TEST(PipelineSchedule, OneForwardOneBackward) {
  EXPECT_THAT(orders(PipelineSchedule::one_f_one_b, 1),
              ElementsAre("F0 F1 F2 F3 B0 F4 B1 F5 B2 F6 B3 F7 B4 B5 B6 B7",
                          "F0 F1 F2 B0 F3 B1 F4 B2 F5 B3 F6 B4 F7 B5 B6 B7",
                          "F0 F1 B0 F2 B1 F3 B2 F4 B3 F5 B4 F6 B5 F7 B6 B7",
                          "F0 B0 F1 B1 F2 B2 F3 B3 F4 B4 F5 B5 F6 B6 F7 B7"));
}

// Megatron-Core's table: groups of four micro-batches through both chunks; 2 (p - r - 1) + 4 passes before
// the first backward.
TEST(PipelineSchedule, Interleaved) {
  EXPECT_THAT(orders(PipelineSchedule::interleaved, 2),
              ElementsAre("F0 F1 F2 F3 F'0 F'1 F'2 F'3 F4 F5 F6 B'0 F7 B'1 F'4 B'2 F'5 B'3 F'6 B0 F'7 B1 B2 "
                          "B3 B'4 B'5 B'6 B'7 B4 B5 B6 B7",
                          "F0 F1 F2 F3 F'0 F'1 F'2 F'3 F4 B'0 F5 B'1 F6 B'2 F7 B'3 F'4 B0 F'5 B1 F'6 B2 F'7 "
                          "B3 B'4 B'5 B'6 B'7 B4 B5 B6 B7",
                          "F0 F1 F2 F3 F'0 F'1 F'2 B'0 F'3 B'1 F4 B'2 F5 B'3 F6 B0 F7 B1 F'4 B2 F'5 B3 F'6 "
                          "B'4 F'7 B'5 B'6 B'7 B4 B5 B6 B7",
                          "F0 F1 F2 F3 F'0 B'0 F'1 B'1 F'2 B'2 F'3 B'3 F4 B0 F5 B1 F6 B2 F7 B3 F'4 B'4 F'5 "
                          "B'5 F'6 B'6 F'7 B'7 B4 B5 B6 B7"));
}

// Rank r starts with weights' gradients r backward passes later: what is held is the same for all.
TEST(PipelineSchedule, ZeroBubble) {
  EXPECT_THAT(orders(PipelineSchedule::zero_bubble, 1),
              ElementsAre("F0 F1 F2 F3 I0 W0 F4 I1 W1 F5 I2 W2 F6 I3 W3 F7 I4 W4 I5 W5 I6 W6 I7 W7",
                          "F0 F1 F2 I0 F3 I1 W0 F4 I2 W1 F5 I3 W2 F6 I4 W3 F7 I5 W4 I6 W5 I7 W6 W7",
                          "F0 F1 I0 F2 I1 F3 I2 W0 F4 I3 W1 F5 I4 W2 F6 I5 W3 F7 I6 W4 I7 W5 W6 W7",
                          "F0 I0 F1 I1 F2 I2 F3 I3 W0 F4 I4 W1 F5 I5 W2 F6 I6 W3 F7 I7 W4 W5 W6 W7"));
}

// The lower half's mirror is the upper half.
TEST(PipelineSchedule, DualPipe) {
  EXPECT_THAT(orders(PipelineSchedule::dualpipe, 2),
              ElementsAre("F0 F1 F2 F'0 I'0 W'0 F'1 F3&B'1 F'2&B0 B'2 F'3&B1 B'3 I2 W2 I3 W3",
                          "F0 F'0 F1 F'1 F2 B'0 F'2&B0 F3&B'1 F'3&B1 B'2 B2 I'3 I3 W'3 W3",
                          "F'0 F0 F'1 F1 F'2 B0 F2&B'0 F'3&B1 F3&B'1 B2 B'2 I3 I'3 W3 W'3",
                          "F'0 F'1 F'2 F0 I0 W0 F1 F'3&B1 F2&B'0 B2 F3&B'1 B3 I'2 W'2 I'3 W'3"));
}

std::vector<double> held(PipelineSchedule schedule, int chunks, bool at_input_gradient = false) {
  std::vector<double> of_chunk(static_cast<std::size_t>(chunks), 1), most;
  for (const auto& order : pipeline_order({schedule, 4, chunks, 8}))
    most.push_back(most_in_flight(order, of_chunk, at_input_gradient));
  return most;
}

// GPipe: all; 1F1B: p - r; interleaved: 2 (p - r - 1) + (v - 1) p + 1 chunks; ZB-H1: p until the weights'
// gradients, p - r until the inputs'; DualPipe: p + 1.
TEST(PipelineSchedule, WhatIsInFlight) {
  EXPECT_THAT(held(PipelineSchedule::gpipe, 1), ElementsAre(8, 8, 8, 8));
  EXPECT_THAT(held(PipelineSchedule::one_f_one_b, 1), ElementsAre(4, 3, 2, 1));
  EXPECT_THAT(held(PipelineSchedule::interleaved, 2), ElementsAre(11, 9, 7, 5));
  EXPECT_THAT(held(PipelineSchedule::zero_bubble, 1), ElementsAre(4, 4, 4, 4));
  EXPECT_THAT(held(PipelineSchedule::zero_bubble, 1, true), ElementsAre(4, 3, 2, 1));
  EXPECT_THAT(held(PipelineSchedule::dualpipe, 2), ElementsAre(5, 5, 5, 5));
  // Of the last of four ranks: the first chunk of a group of four, and of one more before the first is done
  // with.
  auto last = pipeline_order({PipelineSchedule::interleaved, 4, 2, 8}).back();
  EXPECT_EQ(most_in_flight(last, std::array{1.0, 0.0}), 5);
}

// Every micro-batch goes through every chunk once, forward before backward before its weights' gradient.
TEST(PipelineSchedule, EveryPassOnceAndInOrder) {
  for (auto [schedule, chunks] : {std::pair{PipelineSchedule::gpipe, 1},
                                  {PipelineSchedule::one_f_one_b, 1},
                                  {PipelineSchedule::interleaved, 3},
                                  {PipelineSchedule::zero_bubble, 1},
                                  {PipelineSchedule::dualpipe, 2}})
    for (int ranks : {2, 4, 6}) {
      int micro_batches = 4 * ranks;
      PipelineShape shape{schedule, ranks, chunks, micro_batches};
      check_shape(shape);
      int of_chunk = shape.is_dual() ? micro_batches / 2 : micro_batches;
      for (const auto& order : pipeline_order(shape)) {
        std::map<std::pair<int, int>, std::string> seen;
        auto see = [&](const PipelinePass& pass) {
          seen[{pass.chunk, pass.micro_batch}] += "FBIW"[static_cast<int>(pass.kind)];
        };
        for (const auto& [pass, beside] : order) {
          see(pass);
          if (beside) see(*beside);
        }
        EXPECT_EQ(seen.size(), static_cast<std::size_t>(chunks * of_chunk));
        for (const auto& [which, passes] : seen) EXPECT_TRUE(passes == "FB" || passes == "FIW") << passes;
      }
    }
}

TEST(PipelineSchedule, ShapesThatAreNone) {
  EXPECT_THROW(check_shape({PipelineSchedule::one_f_one_b, 4, 2, 8}), InputError);
  EXPECT_THROW(check_shape({PipelineSchedule::interleaved, 4, 1, 8}), InputError);
  EXPECT_THROW(check_shape({PipelineSchedule::interleaved, 4, 2, 6}), InputError);
  EXPECT_THROW(check_shape({PipelineSchedule::interleaved, 4, 2, 8, 2}), InputError);
  EXPECT_THROW(check_shape({PipelineSchedule::dualpipe, 3, 2, 8}), InputError);
  EXPECT_THROW(check_shape({PipelineSchedule::dualpipe, 4, 2, 6}), InputError);
  EXPECT_NO_THROW(check_shape({PipelineSchedule::interleaved, 4, 2, 8, 8}));
}

}  // namespace
}  // namespace ddpsim::testing
