#include "sim/base/statistics.hpp"

#include <cmath>

#include <gtest/gtest.h>

#include "sim/base/check.hpp"

namespace ddpsim {
namespace {

TEST(Statistics, Mean) {
  EXPECT_EQ(mean({3}), 3);
  EXPECT_EQ(mean({1, 2, 6}), 3);
}

TEST(Statistics, MedianOfAnyOrder) {
  EXPECT_EQ(median({7}), 7);
  EXPECT_EQ(median({9, 1, 4}), 4);
  EXPECT_EQ(median({10, 1, 2, 4}), 3);  // between 2 and 4
}

// Five values have four gaps: a share of 0.25 is just the second value, 0.1 lies 0.4 of the way to it.
TEST(Statistics, QuantilesAreLinearBetweenNeighbours) {
  std::vector<double> values{50, 10, 40, 20, 30};
  EXPECT_EQ(quantile(values, 0), 10);
  EXPECT_EQ(quantile(values, 0.25), 20);
  EXPECT_DOUBLE_EQ(quantile(values, 0.1), 14);
  EXPECT_DOUBLE_EQ(quantile(values, 0.9), 46);
  EXPECT_EQ(quantile(values, 1), 50);
  EXPECT_EQ(quantile({5}, 0.3), 5);
}

TEST(Statistics, TheNearestRankIsOneOfTheValues) {
  std::vector<double> values{50, 10, 40, 20, 30, 10};
  EXPECT_EQ(nearest_rank(values, 0), 1U);
  EXPECT_EQ(nearest_rank(values, 1.0 / 6), 1U);  // of equals the first
  EXPECT_EQ(nearest_rank(values, 0.17), 5U);
  EXPECT_EQ(nearest_rank(values, 0.5), 3U);
  EXPECT_EQ(nearest_rank(values, 0.51), 4U);
  EXPECT_EQ(nearest_rank(values, 1), 0U);
  EXPECT_EQ(nearest_rank({7}, 0.05), 0U);
}

TEST(Statistics, DeviationOfASample) {
  // From their mean 270: (400 + 400 + 1600) / 2 = 1200.
  EXPECT_DOUBLE_EQ(*standard_deviation({250, 250, 310}), std::sqrt(1200.0));
  EXPECT_EQ(standard_deviation({4, 4}), 0);
  EXPECT_FALSE(standard_deviation({4}));
  EXPECT_FALSE(standard_deviation({}));
}

TEST(Statistics, OfNothingThereAreNone) {
  EXPECT_THROW(mean({}), InternalError);
  EXPECT_THROW(median({}), InternalError);
  EXPECT_THROW(quantile({}, 0.5), InternalError);
  EXPECT_THROW(quantile({1, 2}, 1.5), InternalError);
  EXPECT_THROW(quantile({1, 2}, -0.1), InternalError);
}

}  // namespace
}  // namespace ddpsim
