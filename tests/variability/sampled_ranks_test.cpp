// Draws of ranks that are not always as fast.
#include "sim/variability/sampled_ranks.hpp"

#include <algorithm>
#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/base/statistics.hpp"

namespace ddpsim {
namespace {

using ::testing::Each;

Variability of_iterations(int iterations, std::uint64_t seed = 1) {
  Variability variability;
  variability.seed = seed;
  variability.iterations = iterations;
  return variability;
}

Variability jittered(double spread, int iterations, std::uint64_t seed = 1) {
  auto variability = of_iterations(iterations, seed);
  variability.jitter = LogNormal{spread};
  return variability;
}

// Each a group of its own, so that its factors are seen.
std::vector<RankPlace> lone_ranks(int ranks, int ranks_of_node = 1) {
  std::vector<RankPlace> places;
  for (int rank = 0; rank < ranks; ++rank) places.push_back({1, rank / ranks_of_node, rank});
  return places;
}

std::vector<RankPlace> one_group(int ranks) {
  return std::vector<RankPlace>(static_cast<std::size_t>(ranks));
}

// [iteration][rank]
std::vector<std::vector<double>> factors(const Variability& variability,
                                         const std::vector<RankPlace>& places) {
  std::vector<std::vector<double>> factors;
  for (const auto& groups : sample_ranks(variability, places).slowest) {
    auto& row = factors.emplace_back();
    for (const auto& slowest : groups) row.push_back(slowest.slowdown);
  }
  return factors;
}

std::vector<double> column(const std::vector<std::vector<double>>& rows, std::size_t index) {
  std::vector<double> values;
  for (const auto& row : rows) values.push_back(row[index]);
  return values;
}

// 20000 draws: the median's standard error is 1.25 x 0.2 / sqrt(20000) = 0.002, the deviation's 0.7 % of it.
TEST(SampledRanks, LogNormalJitterHasMedianOneAndTheSpreadAskedFor) {
  auto drawn = column(factors(jittered(0.2, 20000), lone_ranks(1)), 0);
  EXPECT_NEAR(median(drawn), 1, 0.008);
  EXPECT_NEAR(*standard_deviation(drawn) / median(drawn), 0.2, 0.008);
}

TEST(SampledRanks, TheSeedSaysIt) {
  auto places = lone_ranks(5);
  EXPECT_EQ(factors(jittered(0.1, 20, 7), places), factors(jittered(0.1, 20, 7), places));
  EXPECT_NE(factors(jittered(0.1, 20, 7), places), factors(jittered(0.1, 20, 8), places));
  // All 64 bits of it.
  EXPECT_NE(factors(jittered(0.1, 20, 7), places),
            factors(jittered(0.1, 20, 7 + (std::uint64_t{1} << 32U)), places));
}

// Points of a sweep over the world size, or over what varies, differ by that alone.
TEST(SampledRanks, DrawsDoNotDependOnOneAnother) {
  auto few = factors(jittered(0.1, 30), lone_ranks(3));
  auto many = factors(jittered(0.1, 30), lone_ranks(100));
  auto longer = factors(jittered(0.1, 60), lone_ranks(3));
  for (std::size_t i = 0; i < few.size(); ++i) {
    EXPECT_EQ(few[i], std::vector<double>(many[i].begin(), many[i].begin() + 3));
    EXPECT_EQ(few[i], longer[i]);
  }
  auto also_slow = jittered(0.1, 30);
  also_slow.slow = {{SlowOnes::Of::ranks, SlowOnes::Lasts::iteration, 1, 2}};
  for (std::size_t i = 0; i < few.size(); ++i)
    EXPECT_DOUBLE_EQ(factors(also_slow, lone_ranks(3))[i][1], 2 * few[i][1]);
}

TEST(SampledRanks, RanksDifferInEachIterationByJitterAndForTheRunByRanks) {
  auto jitter = factors(jittered(0.1, 3), lone_ranks(2));
  EXPECT_NE(jitter[0][0], jitter[1][0]);
  EXPECT_NE(jitter[0][0], jitter[0][1]);
  auto lasting = of_iterations(3);
  lasting.ranks = LogNormal{0.1};
  auto speeds = factors(lasting, lone_ranks(2));
  EXPECT_EQ(speeds[0], speeds[1]);
  EXPECT_EQ(speeds[0], speeds[2]);
  EXPECT_NE(speeds[0][0], speeds[0][1]);
}

TEST(SampledRanks, RanksOfANodeAreSlowTogether) {
  auto variability = of_iterations(2);
  variability.nodes = LogNormal{0.1};
  auto speeds = factors(variability, lone_ranks(6, 3));
  EXPECT_EQ(speeds[0][0], speeds[0][2]);
  EXPECT_EQ(speeds[0][3], speeds[0][5]);
  EXPECT_NE(speeds[0][0], speeds[0][3]);
  EXPECT_EQ(speeds[0], speeds[1]);
}

TEST(SampledRanks, ObservedFactorsAreDrawnAndNothingElse) {
  auto variability = of_iterations(4000);
  variability.jitter = Observed{{0.5, 1, 3}};
  auto drawn = column(factors(variability, lone_ranks(1)), 0);
  EXPECT_THAT(drawn, Each(::testing::AnyOf(0.5, 1, 3)));
  // A third each, within five standard errors.
  EXPECT_NEAR(static_cast<double>(std::count(drawn.begin(), drawn.end(), 3.0)) / 4000, 1.0 / 3, 0.04);
}

TEST(SampledRanks, SlowOnesAreAsManyAsTheirProbabilitySays) {
  auto variability = of_iterations(50);
  variability.slow = {{SlowOnes::Of::nodes, SlowOnes::Lasts::run, 0.25, 1.5}};
  auto run = factors(variability, lone_ranks(4000, 2));
  EXPECT_EQ(run[0], run[49]);
  EXPECT_EQ(run[0][0], run[0][1]);
  EXPECT_THAT(run[0], Each(::testing::AnyOf(1, 1.5)));
  EXPECT_NEAR(static_cast<double>(std::count(run[0].begin(), run[0].end(), 1.5)) / 4000, 0.25, 0.05);
  variability.slow[0].lasts = SlowOnes::Lasts::iteration;
  auto each = factors(variability, lone_ranks(4000, 2));
  EXPECT_NE(each[0], each[1]);
  variability.slow[0].probability = 0;
  EXPECT_THAT(factors(variability, lone_ranks(10))[3], Each(1));
  variability.slow[0].probability = 1;
  EXPECT_THAT(factors(variability, lone_ranks(10))[3], Each(1.5));
}

TEST(SampledRanks, WhatIsKnownBeforehandCounts) {
  auto places = lone_ranks(2);
  places[1].slowdown = 1.25;
  auto variability = of_iterations(1);
  variability.slow = {{SlowOnes::Of::ranks, SlowOnes::Lasts::run, 1, 2}};
  EXPECT_EQ(factors(variability, places)[0], (std::vector<double>{2, 2.5}));
}

TEST(SampledRanks, TheSlowestOfEachGroup) {
  auto each = factors(jittered(0.1, 5), lone_ranks(6));
  std::vector<RankPlace> places = one_group(6);
  for (std::size_t rank : {1U, 3U, 5U}) places[rank].group = 1;
  auto groups = sample_ranks(jittered(0.1, 5), places).slowest;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    EXPECT_EQ(groups[i][0].slowdown, std::max({each[i][0], each[i][2], each[i][4]}));
    EXPECT_EQ(groups[i][1].slowdown, std::max({each[i][1], each[i][3], each[i][5]}));
    EXPECT_EQ(each[i][static_cast<std::size_t>(groups[i][1].rank)], groups[i][1].slowdown);
  }
}

// Of n ranks that are 1 or 2 with equal probability the slowest is 2 - 2^-n on average.
TEST(SampledRanks, TheSlowestOfMoreIsSlower) {
  auto variability = of_iterations(4000);
  variability.jitter = Observed{{1, 2}};
  auto growth = sample_ranks(variability, one_group(12)).growth;
  std::vector<int> counts;
  for (const auto& [ranks, slowdown] : growth) {
    counts.push_back(ranks);
    EXPECT_NEAR(slowdown, 2 - std::pow(2, -ranks), 0.02) << ranks;
  }
  EXPECT_EQ(counts, (std::vector<int>{1, 2, 4, 8, 12}));
  EXPECT_EQ(sample_ranks(variability, one_group(8)).growth.back().ranks, 8);
}

TEST(SampledRanks, OfAllRanksTheGrowthIsTheMeanOfTheSlowest) {
  auto sampled = sample_ranks(jittered(0.1, 50), one_group(37));
  double sum = 0;
  for (const auto& groups : sampled.slowest) sum += groups[0].slowdown;
  EXPECT_NEAR(sampled.growth.back().slowdown, sum / 50, 1e-12);
  EXPECT_TRUE(std::is_sorted(sampled.growth.begin(), sampled.growth.end(),
                             [](const auto& a, const auto& b) { return a.slowdown < b.slowdown; }));
}

// Pinned: the numbers are the same on every machine.
TEST(SampledRanks, TheFirstDraws) {
  auto drawn = factors(jittered(0.1, 2, 42), lone_ranks(2));
  EXPECT_NEAR(drawn[0][0], 0.92509201079966632, 1e-12);
  EXPECT_NEAR(drawn[0][1], 0.97180703090751297, 1e-12);
  EXPECT_NEAR(drawn[1][0], 0.95796122587687571, 1e-12);
}

}  // namespace
}  // namespace ddpsim
