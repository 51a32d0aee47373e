#include "sim/variability/expert_load.hpp"

#include <limits>

#include <gtest/gtest.h>

namespace ddpsim {
namespace {

ExpertDraws draws(double concentration) {
  return {.experts = 8,
          .top_k = 2,
          .ranks = 8,
          .tokens = 8 * 4096,
          .layers = 32,
          .micro_batches = 4,
          .concentration = concentration,
          .seed = 7};
}

TEST(ExpertLoad, AnInfiniteConcentrationIsBalanced) {
  auto load = draw_expert_load(draws(std::numeric_limits<double>::infinity()));
  EXPECT_EQ(load.of_slowest, 1);
  EXPECT_EQ(load.most, 1);
  EXPECT_EQ(load.dropped, 0);
  // A large one leaves the multinomial's noise: of 8 counts with a mean of 8,192 the largest is some 1.4
  // standard deviations (85 each) above.
  EXPECT_NEAR(draw_expert_load(draws(1e9)).of_slowest, 1 + 1.4 * 85 / 8192, 2e-3);
}

TEST(ExpertLoad, IsTheSameForTheSameSeed) {
  auto one = draw_expert_load(draws(2)), again = draw_expert_load(draws(2));
  EXPECT_EQ(one.of_slowest, again.of_slowest);
  EXPECT_EQ(one.most, again.most);
  auto other = draws(2);
  other.seed = 8;
  EXPECT_NE(draw_expert_load(other).of_slowest, one.of_slowest);
}

TEST(ExpertLoad, FallsWithTheConcentrationAndWithExpertsOnARank) {
  double last = 4.0001;
  for (double concentration : {0.1, 0.5, 2.0, 10.0, 100.0}) {
    auto load = draw_expert_load(draws(concentration));
    EXPECT_LT(load.of_slowest, last);
    EXPECT_GT(load.of_slowest, 1);
    EXPECT_GE(load.most, load.of_slowest);
    last = load.of_slowest;
  }
  auto few = draws(0.5);
  few.ranks = 2;
  EXPECT_LT(draw_expert_load(few).of_slowest, draw_expert_load(draws(0.5)).of_slowest);
  // One rank has all of them.
  few.ranks = 1;
  EXPECT_DOUBLE_EQ(draw_expert_load(few).of_slowest, 1);
}

// A token goes to an expert once: of 2 it goes to, one of 8 experts has half of all copies at most, 4 times
// the mean (and the multinomial's noise).
TEST(ExpertLoad, NoExpertHasATokenTwice) {
  auto load = draw_expert_load(draws(kLeastConcentration));
  EXPECT_GT(load.of_slowest, 3.9);
  EXPECT_LT(load.most, 4 * 1.02);
}

TEST(ExpertLoad, WhatFindsItsExpertFullIsDropped) {
  // Nearly all tokens go to 2 of 8 experts, which take an eighth each.
  auto uneven = draws(kLeastConcentration);
  uneven.capacity = 1;
  EXPECT_NEAR(draw_expert_load(uneven).dropped, 0.75, 0.02);
  uneven.capacity = 8;
  EXPECT_EQ(draw_expert_load(uneven).dropped, 0);
  auto balanced = draws(std::numeric_limits<double>::infinity());
  balanced.capacity = 0.75;
  EXPECT_EQ(draw_expert_load(balanced).dropped, 0.25);
}

}  // namespace
}  // namespace ddpsim
