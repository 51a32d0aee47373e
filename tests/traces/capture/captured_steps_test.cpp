#include "traces/capture/captured_steps.hpp"

#include <gmock/gmock.h>

#include "sim/base/program_exit.hpp"

namespace ddpsim {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

const std::vector<CapturedParameter> kTwo{{"a", 10, DType::float32}, {"b", 20, DType::bfloat16}};

// Parameter 1 arrives at b seconds, then parameter 0 at a seconds. The layer of parameter 0 is over halfway
// through the forward pass, that of parameter 1 at its end.
CapturedStep step(double forward, double b, double a, double optimizer) {
  return {Seconds(forward),
          Seconds(optimizer),
          {1, 0},
          {Seconds(a), Seconds(b)},
          {Seconds(forward / 2), Seconds(forward)}};
}

TEST(CapturedSteps, GradientsStandInOrderOfArrivalWithMediansAndDeviations) {
  auto trace = trace_of_steps(kTwo, {step(1, 2, 4, 7), step(2, 3, 5, 8), step(6, 7, 15, 9)});
  EXPECT_EQ(trace.forward, Seconds(2));
  EXPECT_EQ(trace.optimizer, Seconds(8));
  ASSERT_EQ(trace.gradients.size(), 2U);
  // Times of b: 2, 3, 7, so median 3, mean 4, deviation sqrt((4 + 1 + 9) / 2) = sqrt(7).
  EXPECT_EQ(trace.gradients[0].name, "b");
  EXPECT_EQ(trace.gradients[0].elements, 20);
  EXPECT_EQ(trace.gradients[0].dtype, DType::bfloat16);
  EXPECT_EQ(trace.gradients[0].ready, Seconds(3));
  EXPECT_EQ(trace.gradients[0].ready_spread, Seconds(2.645751311));  // to the nanosecond
  // Times of a: 4, 5, 15, so median 5, mean 8, deviation sqrt((16 + 9 + 49) / 2) = sqrt(37).
  EXPECT_EQ(trace.gradients[1].name, "a");
  EXPECT_EQ(trace.gradients[1].ready, Seconds(5));
  EXPECT_EQ(trace.gradients[1].ready_spread, Seconds(6.082762530));
  // Forward passes of 1, 2 and 6 s, half of them until the layer of a is over.
  EXPECT_EQ(trace.gradients[0].forward_end, Seconds(2));
  EXPECT_EQ(trace.gradients[1].forward_end, Seconds(1));
  // Parameter 0 is gradient 1.
  EXPECT_EQ(trace.registration_order, (std::vector<std::size_t>{1, 0}));
}

TEST(CapturedSteps, NobodyTimedTheForwardPassesOfLayers) {
  auto one = step(1, 2, 4, 7);
  one.forward_ends.clear();
  for (const auto& gradient : trace_of_steps(kTwo, {one, one}).gradients)
    EXPECT_EQ(gradient.forward_end, std::nullopt);
}

TEST(CapturedSteps, AnEvenNumberHasItsMedianBetweenTheMiddleTwo) {
  auto trace = trace_of_steps(kTwo, {step(1, 2, 4, 1), step(1, 3, 6, 1)});
  EXPECT_EQ(trace.gradients[1].ready, Seconds(5));
}

TEST(CapturedSteps, OneStepHasNoDeviation) {
  EXPECT_FALSE(trace_of_steps(kTwo, {step(1, 2, 4, 1)}).gradients[0].ready_spread);
}

TEST(CapturedSteps, ATableOfTheirTimes) {
  EXPECT_EQ(write_steps({step(1, 2, 4, 7), step(0.25, 1, 1.5, 0.125)}),
            "step,forward_s,backward_s,optimizer_s,compute_s\n"
            "1,1,4,7,12\n"
            "2,0.25,1.5,0.125,1.875\n");
}

TEST(CapturedSteps, TheSpreadIsHalfOfTheMiddleHalf) {
  // Backward passes end at 8, 9, 10, 11, 12: the middle half is from 9 to 11, and 1 over the median is 0.1.
  EXPECT_DOUBLE_EQ(backward_spread({step(1, 1, 10, 1), step(1, 1, 8, 1), step(1, 1, 12, 1), step(1, 1, 9, 1),
                                    step(1, 1, 11, 1)}),
                   0.1);
}

TEST(CapturedSteps, AnotherOrderInOneStepIsAFailedRun) {
  auto odd = step(1, 4, 2, 1);
  odd.arrival = {0, 1};
  EXPECT_THAT(
      [&] {
        trace_of_steps(kTwo, {step(1, 2, 4, 1), odd});
      },
      ThrowsMessage<RunFailed>(
          HasSubstr("not arrive in the same order in every step: b in one, a in another")));
}

TEST(CapturedSteps, AGradientThatNeverArrivesIsAFailedRun) {
  auto odd = step(1, 2, 4, 1);
  odd.arrival = {1};
  EXPECT_THAT([&] { trace_of_steps(kTwo, {odd}); },
              ThrowsMessage<RunFailed>(HasSubstr("gradient of a arrived 0 times in one backward pass")));
}

TEST(CapturedSteps, AGradientThatArrivesTwiceIsAFailedRun) {
  auto odd = step(1, 2, 4, 1);
  odd.arrival = {1, 0, 1};
  EXPECT_THAT([&] { trace_of_steps(kTwo, {odd}); },
              ThrowsMessage<RunFailed>(HasSubstr("gradient of b arrived 2 times in one backward pass")));
}

}  // namespace
}  // namespace ddpsim
