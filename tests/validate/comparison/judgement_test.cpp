#include "validate/comparison/judgement.hpp"

#include <cmath>

#include <gtest/gtest.h>

#include "tests/support/likely.hpp"

namespace ddpsim::validate::test {
namespace {

UncertainTime known(double seconds) {
  return {Seconds(seconds), Seconds(seconds), Seconds(seconds)};
}
UncertainTime between(double least, double value, double most) {
  return {Seconds(value), Seconds(least), Seconds(most)};
}

std::vector<Seconds> seconds(const std::vector<double>& values) {
  std::vector<Seconds> seconds;
  for (double value : values) seconds.emplace_back(value);
  return seconds;
}

void expect_time(const UncertainTime& time, double least, double value, double most) {
  EXPECT_NEAR(time.least.value(), least, 1e-12);
  EXPECT_EQ(time.value, Seconds(value));
  EXPECT_NEAR(time.most.value(), most, 1e-12);
}

// The interval of nine is that of the second and the eighth (stopping_rule_test.cpp).
TEST(MeasuredTime, TheMediansInterval) {
  expect_time(measured_time(Seconds(5), seconds({9, 8, 7, 6, 5, 4, 3, 2, 1}), Seconds(100)), 2, 5, 8);
}

// 3, 4 and 5 s deviate by 1 s: 4.303 / sqrt(3) = 2.4843 on either side. 3 and 5 s by sqrt(2): 12.706 s, and
// no time is below zero.
TEST(MeasuredTime, OfTwoToFiveRepetitionsTheMeansInterval) {
  double half = 4.303 / std::sqrt(3.0);
  expect_time(measured_time(Seconds(4), seconds({3, 5, 4}), {}), 4 - half, 4, 4 + half);
  expect_time(measured_time(Seconds(4), seconds({3, 5}), {}), 0, 4, 4 + 12.706);
}

TEST(MeasuredTime, WithoutRepetitionsTheStandardDeviation) {
  expect_time(measured_time(Seconds(4), {}, Seconds(0.5)), 3.5, 4, 4.5);
  expect_time(measured_time(Seconds(4), {}, {}), 4, 4, 4);
  expect_time(measured_time(Seconds(4), seconds({4}), {}), 4, 4, 4);
}

TEST(MeasuredTime, NoiseIsTheFartherEnds) {
  EXPECT_DOUBLE_EQ(between(3, 4, 4.5).noise(), 0.25);
  EXPECT_DOUBLE_EQ(between(3.5, 4, 5).noise(), 0.25);
  EXPECT_EQ(known(4).noise(), 0);
}

TEST(PredictedTime, WithItsRange) {
  IterationMetrics metrics;
  metrics.iteration = Seconds(4);
  expect_time(predicted_time(metrics), 4, 4, 4);
  metrics.uncertainty = ddpsim::testing::one_of({3, 6});
  expect_time(predicted_time(metrics), 3, 4, 6);
}

// Predicted 6 s, measured 5 s: 20 %. Up to 5.5 s leave 6 / 5.5 - 1 = 1/11, from 4.8 s on it may be 6 / 4.8 -
// 1 = 25 %; the farther end is 10 % away.
TEST(ErrorOf, WhatTheMeasurementsNoiseLeaves) {
  auto error = error_of({known(6), between(4.8, 5, 5.5)});
  EXPECT_NEAR(error.value, 0.2, 1e-15);
  EXPECT_NEAR(error.least, 1.0 / 11, 1e-15);
  EXPECT_NEAR(error.most, 0.25, 1e-15);
  EXPECT_NEAR(error.noise, 0.1, 1e-15);
}

// Predicted 4 s (3 to 4.4), measured 5 s (4.8 to 6.25): -20 %. The ends next to each other leave 1 - 4.4
// / 4.8 = 1/12; the measurement alone allows for 1 - 4 / 6.25 = 36 %.
TEST(ErrorOf, BothSidesTogether) {
  auto error = error_of({between(3, 4, 4.4), between(4.8, 5, 6.25)});
  EXPECT_NEAR(error.value, 0.2, 1e-15);
  EXPECT_NEAR(error.least, 1.0 / 12, 1e-15);
  EXPECT_NEAR(error.most, 0.36, 1e-15);
  EXPECT_NEAR(error.noise, 0.25, 1e-15);
}

TEST(ErrorOf, NothingIsLeftWhereTheyMeet) {
  EXPECT_EQ(error_of({between(4, 5, 6), between(5.5, 6, 6.5)}).least, 0);
  EXPECT_EQ(error_of({known(5), between(4, 6, 8)}).least, 0);
}

// 6 s instead of 5 s are 20 %; between 5.7 s and 5.2 s it is 5 / 52, and 6.3 s beside 4.9 s 2/7. The noise is
// that of both, 5 and 4 %.
TEST(RegretOf, OfBothMeasurements) {
  auto regret = regret_of({known(4), between(5.7, 6, 6.3)}, {known(4.5), between(4.9, 5, 5.2)});
  EXPECT_NEAR(regret.value, 0.2, 1e-15);
  EXPECT_NEAR(regret.least, 5.0 / 52, 1e-15);
  EXPECT_NEAR(regret.most, 2.0 / 7, 1e-15);
  EXPECT_NEAR(regret.noise, 0.09, 1e-15);
}

// At the most of both ranges the other point is predicted 6 / 5 - 1 = 20 % shorter: of a regret of 50 % that
// leaves
// 30. At the least it is longer.
TEST(RegretOf, WhatThePredictionAdmits) {
  auto regret = regret_of({between(3, 4, 6), known(6)}, {between(3.5, 4.5, 5), known(4)});
  EXPECT_NEAR(regret.value, 0.5, 1e-15);
  EXPECT_NEAR(regret.least, 0.3, 1e-15);
}

// Ranges that overlap, but move together: the same causes make both longer.
TEST(RegretOf, RangesOfTheSameCausesAdmitNothing) {
  auto regret = regret_of({between(3, 4, 6), known(6)}, {between(3.5, 4.5, 6.5), known(4)});
  EXPECT_NEAR(regret.least, 0.5, 1e-15);
}

TEST(RegretOf, NoneOfTheBetterPoint) {
  auto regret = regret_of({known(4), between(3, 4, 5)}, {known(5), known(6)});
  EXPECT_EQ(regret.value, 0);
  EXPECT_EQ(regret.least, 0);
  EXPECT_EQ(regret.most, 0);
}

TEST(JudgementOf, MissedOnlyBeyondNoise) {
  EXPECT_EQ(judgement_of({0.2, 0.11, 0.3, 0.1}, 0.1), Judgement::missed);
  EXPECT_EQ(judgement_of({0.2, 0.1, 0.3, 0.1}, 0.1), Judgement::met);
  // However noisy.
  EXPECT_EQ(judgement_of({0.9, 0.11, 2, 0.8}, 0.1), Judgement::missed);
}

// Only what the prediction admits keeps it from being missed: no reason to call it met.
TEST(JudgementOf, TooVagueWhereThePredictionAloneForgives) {
  EXPECT_EQ(judgement_of({0.2, 0.05, 0.3, 0.01, 0.19}, 0.1), Judgement::too_vague);
  EXPECT_EQ(judgement_of({0.2, 0.05, 0.3, 0.01, 0.1}, 0.1), Judgement::met);
  // Predicted 5 s from 4 to 10, measured 8 s: 37.5 %, of which the interval leaves nothing.
  EXPECT_EQ(judgement_of(error_of({between(4, 5, 10), known(8)}), 0.1), Judgement::too_vague);
}

TEST(JudgementOf, TooNoisyWhereNoiseAloneIsMoreThanTheThreshold) {
  EXPECT_EQ(judgement_of({0.05, 0, 0.2, 0.11}, 0.1), Judgement::too_noisy);
  EXPECT_EQ(judgement_of({0.05, 0, 0.2, 0.1}, 0.1), Judgement::met);
}

// Wherever the measured time may be, it is met.
TEST(JudgementOf, MetInSpiteOfNoise) {
  EXPECT_EQ(judgement_of({0.05, 0, 0.1, 0.15}, 0.1), Judgement::met);
}

// Of decimal fractions: 1.05 / 1 - 1 is more than 0.05.
TEST(JudgementOf, AThresholdThatIsJustMetIsMet) {
  EXPECT_EQ(judgement_of(error_of({known(1.05), known(1)}), 0.05), Judgement::met);
  EXPECT_EQ(judgement_of(error_of({known(1.0500001), known(1)}), 0.05), Judgement::missed);
}

}  // namespace
}  // namespace ddpsim::validate::test
