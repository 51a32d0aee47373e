#include "sim/variability/weather.hpp"

#include <cmath>
#include <tuple>

#include <gtest/gtest.h>

#include "sim/variability/sampled_ranks.hpp"

namespace ddpsim {
namespace {

const Weather kTwoAndEight{{{2, 0.5, 0.8, 1}, {8, 0.2, 0.4, 1}}};

TEST(WeatherTest, WithinANodeThereIsNone) {
  EXPECT_EQ(share_of_bandwidth(kTwoAndEight, 1, 0.01), 1);
}

TEST(WeatherTest, QuantilesAreThoseOfTheRows) {
  for (auto [nodes, p5, median] : {std::tuple(2, 0.5, 0.8), std::tuple(8, 0.2, 0.4)}) {
    EXPECT_DOUBLE_EQ(share_of_bandwidth(kTwoAndEight, nodes, 0.05), p5);
    EXPECT_DOUBLE_EQ(share_of_bandwidth(kTwoAndEight, nodes, 0.5), median);
    EXPECT_DOUBLE_EQ(share_of_bandwidth(kTwoAndEight, nodes, 0.95), 1);
    EXPECT_DOUBLE_EQ(share_of_bandwidth(kTwoAndEight, nodes, 0), p5);
    EXPECT_DOUBLE_EQ(share_of_bandwidth(kTwoAndEight, nodes, 1), 1);
  }
  EXPECT_DOUBLE_EQ(share_of_bandwidth(kTwoAndEight, 64, 0.5), 0.4);
}

// Half way in the logarithm: 4 nodes between 2 and 8, and a quarter and three quarters between the quantiles.
TEST(WeatherTest, BetweenThemLogarithms) {
  EXPECT_NEAR(share_of_bandwidth(kTwoAndEight, 4, 0.5), std::sqrt(0.8 * 0.4), 1e-12);
  EXPECT_NEAR(share_of_bandwidth(kTwoAndEight, 8, 0.275), std::sqrt(0.2 * 0.4), 1e-12);
  EXPECT_NEAR(share_of_bandwidth(kTwoAndEight, 8, 0.725), std::sqrt(0.4 * 1), 1e-12);
}

// Draws of their own: those of ranks stay what they are, and half of the iterations have less than the
// median.
TEST(WeatherTest, IsDrawnForEachIteration) {
  Variability variability;
  variability.seed = 7;
  variability.iterations = 4000;
  variability.jitter = LogNormal{0.03};
  std::vector<RankPlace> ranks(4);
  auto fair = sample_ranks(variability, ranks);
  variability.weather = kTwoAndEight;
  auto sampled = sample_ranks(variability, ranks);
  ASSERT_EQ(sampled.weather.size(), 4000U);
  EXPECT_TRUE(fair.weather.empty());
  for (std::size_t i = 0; i < 4000; i += 500)
    EXPECT_EQ(sampled.slowest[i].front().slowdown, fair.slowest[i].front().slowdown);
  int below = 0;
  for (double quantile : sampled.weather) below += share_of_bandwidth(kTwoAndEight, 8, quantile) < 0.4;
  EXPECT_NEAR(below, 2000, 100);
}

}  // namespace
}  // namespace ddpsim
