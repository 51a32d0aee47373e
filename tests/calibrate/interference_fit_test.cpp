#include "sim/calibrate/interference_fit.hpp"

#include <gtest/gtest.h>

#include "tests/support/errors.hpp"

namespace ddpsim::calibrate {
namespace {

using ddpsim::testing::brief_error;

// 10 ms alone, then 20 ms of compute beside an all-reduce of 30 ms, in closed form. Compute takes 20 (1+s);
// the all-reduce does 20 (1+s) / (1+r) of its 30 ms beside it, and the rest is the tail. Where it ends first
// it takes 30 (1+r), compute does 30 (1+r) / (1+s) beside it, and there is no tail.
OverlappedIteration one_collective(double s, double r) {
  double compute = 20 * (1 + s), collective = 30 * (1 + r);
  double tail = 30 - compute / (1 + r);
  if (tail >= 0)
    return {Seconds(1e-3 * (10 + compute + tail)), Seconds(1e-3 * tail), Seconds(1e-3 * (compute + tail))};
  return {Seconds(1e-3 * (10 + collective + 20 - collective / (1 + s))), Seconds(0),
          Seconds(1e-3 * collective)};
}

// One time: r = s. 10 + 20 (1+s) + 10 = 46.
TEST(FitInterference, OneTimeAlone) {
  auto fit = fit_interference({Seconds(0.046), std::nullopt}, one_collective);
  EXPECT_FALSE(fit.separate);
  EXPECT_NEAR(fit.compute, 0.3, 1e-6);
  EXPECT_EQ(fit.collective, fit.compute);
  EXPECT_NEAR(fit.predicted.iteration.value(), 0.046, 1e-9);
}

// 10 + 20 * 1.5 + tail = 46, tail = 30 - 30 / (1+r) = 6.
TEST(FitInterference, ATailTellsThemApart) {
  auto fit = fit_interference({Seconds(0.046), Seconds(0.006)}, one_collective);
  EXPECT_TRUE(fit.separate);
  EXPECT_NEAR(fit.compute, 0.5, 1e-5);
  EXPECT_NEAR(fit.collective, 0.25, 1e-5);
  EXPECT_NEAR(fit.predicted.tail->value(), 0.006, 1e-8);
}

// 36 ms in flight are 30 * 1.2, beside which compute does 36 / 2 of its 20 ms: 10 + 36 + 2 = 48. No tail.
TEST(FitInterference, ATimeInFlightTellsThemApart) {
  auto fit = fit_interference({Seconds(0.048), Seconds(0), Seconds(0.036)}, one_collective);
  EXPECT_TRUE(fit.separate);
  EXPECT_NEAR(fit.compute, 1, 1e-5);
  EXPECT_NEAR(fit.collective, 0.2, 1e-5);
  EXPECT_NEAR(fit.predicted.communication->value(), 0.036, 1e-8);
}

// With s = 0 the tail is longest, 16 of the 46 ms.
TEST(FitInterference, ATailThatNothingGives) {
  auto fit = fit_interference({Seconds(0.046), Seconds(0.017)}, one_collective);
  EXPECT_FALSE(fit.separate);
  ASSERT_TRUE(fit.closest);
  EXPECT_NEAR(fit.closest->value(), 0.016, 1e-6);
  EXPECT_NEAR(fit.compute, 0.3, 1e-6);
  EXPECT_EQ(fit.collective, fit.compute);
}

TEST(FitInterference, WhereNothingOverlaps) {
  auto in_turn = [](double, double) { return OverlappedIteration{Seconds(0.04), Seconds(0.01)}; };
  EXPECT_EQ(brief_error([&] {
              fit_interference({Seconds(0.04), std::nullopt}, in_turn);
            }),
            "however strong the interference, the same iteration is predicted: nothing overlaps in it; fit "
            "to an iteration in which all-reduces run beside compute");
}

// 40 ms are what they take without: 10 + 20 + 10.
TEST(FitInterference, NoneAtAll) {
  EXPECT_EQ(fit_interference({Seconds(0.040), std::nullopt}, one_collective).compute, 0);
  EXPECT_EQ(fit_interference({Seconds(0.03997), std::nullopt}, one_collective).compute, 0);  // within 0.1 %
}

TEST(FitInterference, WhatNoInterferenceExplains) {
  EXPECT_EQ(brief_error([] {
              fit_interference({Seconds(0.039), std::nullopt}, one_collective);
            }),
            "the iteration took 39 ms, and without any interference 40 ms is predicted; are compute and "
            "all-reduces of the same run set, and measured without one another?");
  EXPECT_EQ(brief_error([] {
              fit_interference({Seconds(1), std::nullopt}, one_collective);
            }),
            "the iteration took 1 s, and however strong the interference only 440 ms is predicted; is it the "
            "scenario that was measured, and does anything overlap in it?");
}

}  // namespace
}  // namespace ddpsim::calibrate
