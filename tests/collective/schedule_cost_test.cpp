#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "sim/collective/schedule.hpp"

#include "tests/collective/rings.hpp"

namespace ddpsim {
namespace {

using testing::RingLinks;

double cost(const RingLinks& links, double bytes) {
  return ScheduleCost(links.all_reduce())(Bytes(bytes)).value();
}

void expect_relative(double actual, double expected, double tolerance) {
  EXPECT_NEAR(actual, expected, tolerance * expected);
}

struct Golden {
  int ranks;
  double milliseconds;
};

class RingGolden : public ::testing::TestWithParam<Golden> {};

// 25 MiB at 100 Gbit/s and 5 us a step, 2 (N-1) (alpha + S/N/beta). N = 8: 14 steps of
// 5 us + 26214400 / 8 / 12.5e9 s = 5 us + 262.144 us, 14 * 267.144 us = 3.740016 ms.
// N = 1024: 2046 * (5 us + 2.048 us) = 14.420208 ms.
INSTANTIATE_TEST_SUITE_P(Ranks, RingGolden,
                         ::testing::Values(Golden{8, 3.740016}, Golden{64, 4.758768}, Golden{256, 6.727920},
                                           Golden{1024, 14.420208}),
                         [](const auto& golden) { return std::to_string(golden.param.ranks); });

TEST_P(RingGolden, TwentyFiveMiB) {
  expect_relative(cost(RingLinks(GetParam().ranks), 26214400), GetParam().milliseconds * 1e-3, 1e-12);
}

TEST(ScheduleCost, IsTheEquationOfTheRing) {
  for (int n = 2; n <= 130; ++n)
    for (double bytes : {0.0, 1.0, 4096.0, 26214400.0, 3.2e9})
      for (double alpha : {0.0, 5e-6})
        for (double beta : {1e6, 12.5e9}) {
          auto expected = 2.0 * (n - 1) * (alpha + bytes / n / beta);
          expect_relative(cost(RingLinks(n, Seconds(alpha), BytesPerSecond(beta)), bytes), expected, 1e-12);
        }
}

TEST(ScheduleCost, NoBytesStillPayTheLatency) {
  EXPECT_DOUBLE_EQ(cost(RingLinks(8), 0), 14 * 5e-6);
}

// The slowest edge sets the pace of every step: 14 * (5 us + 3276800 B / 6e9 B/s) = 14 * 551.1333 us
// = 7.7158667 ms.
TEST(ScheduleCost, OneSlowEdge) {
  for (std::size_t slow : {0U, 3U, 7U}) {
    RingLinks links(8);
    links.bandwidths[slow] = BytesPerSecond(6e9);
    expect_relative(cost(links, 26214400), 7.715866666666667e-3, 1e-12);
  }
}

// Which edge is the slowest depends on the size. Edge 1: 100 us + chunk / 12.5 GB/s; edge 2: 5 us + chunk / 6
// GB/s. They are even at 95e-6 / (1/6e9 - 1/12.5e9) = 1096154 bytes a chunk.
TEST(ScheduleCost, TheSlowestEdgeChangesWithTheSize) {
  RingLinks links(4);
  links.latencies[1] = Seconds(100e-6);
  links.bandwidths[2] = BytesPerSecond(6e9);
  double small = 1'000'000, large = 1'200'000;
  expect_relative(cost(links, 4 * small), 6 * (100e-6 + small / 12.5e9), 1e-12);
  expect_relative(cost(links, 4 * large), 6 * (5e-6 + large / 6e9), 1e-12);
}

// Stages follow each other; rings of one stage run at once, so the slower ring counts.
TEST(ScheduleCost, StagesAddUpAndRingsDoNot) {
  auto slow = RingLinks(8, Seconds(5e-6), BytesPerSecond(6e9)).all_reduce().stages[0];
  auto schedule = RingLinks(8).all_reduce();
  auto one = ScheduleCost(schedule)(Bytes(26214400)).value();
  schedule.stages.push_back(slow);
  auto two = ScheduleCost(schedule)(Bytes(26214400)).value();
  expect_relative(two, one + 7.715866666666667e-3, 1e-12);
  std::swap(schedule.stages[0], schedule.stages[1]);
  expect_relative(ScheduleCost(schedule)(Bytes(26214400)).value(), two, 1e-12);
  schedule.stages[1].rings.push_back(slow.rings[0]);
  expect_relative(ScheduleCost(schedule)(Bytes(26214400)).value(), 2 * 7.715866666666667e-3, 1e-12);
}

class RandomRings : public ::testing::TestWithParam<std::uint64_t> {};
INSTANTIATE_TEST_SUITE_P(Seeds, RandomRings, ::testing::Range<std::uint64_t>(1, 21));

struct RandomRing {
  RingLinks links;
  double bytes;

  explicit RandomRing(std::mt19937_64& random)
      : links(std::uniform_int_distribution<int>(2, 40)(random)), bytes(0) {
    std::uniform_real_distribution<double> exponent(-3, 3);
    for (auto& latency : links.latencies) latency = Seconds(1e-6 * std::pow(10, exponent(random)));
    for (auto& bandwidth : links.bandwidths) bandwidth = BytesPerSecond(1e9 * std::pow(10, exponent(random)));
    bytes = std::floor(1e6 * std::pow(10, exponent(random)));
  }
};

TEST_P(RandomRings, CostStepsTimesTheSlowestEdge) {
  SCOPED_TRACE("seed " + std::to_string(GetParam()));
  std::mt19937_64 random(GetParam());
  for (int i = 0; i < 50; ++i) {
    RandomRing ring(random);
    auto n = static_cast<double>(ring.links.latencies.size());
    double slowest = 0;
    for (std::size_t e = 0; e < ring.links.latencies.size(); ++e)
      slowest = std::max(slowest,
                         ring.links.latencies[e].value() + ring.bytes / n / ring.links.bandwidths[e].value());
    expect_relative(cost(ring.links, ring.bytes), 2 * (n - 1) * slowest, 1e-12);
  }
}

TEST_P(RandomRings, MoreBandwidthOrLessLatencyNeverHurts) {
  SCOPED_TRACE("seed " + std::to_string(GetParam()));
  std::mt19937_64 random(GetParam());
  int faster = 0;
  for (int i = 0; i < 50; ++i) {
    RandomRing ring(random);
    double before = cost(ring.links, ring.bytes);
    for (std::size_t e = 0; e < ring.links.latencies.size(); ++e) {
      auto better = ring.links;
      better.bandwidths[e] = better.bandwidths[e] * 1.5;
      better.latencies[e] = better.latencies[e] * 0.5;
      double after = cost(better, ring.bytes);
      EXPECT_LE(after, before) << "edge " << e;
      faster += after < before;
    }
  }
  EXPECT_GE(faster, 50);  // once a ring: on its slowest edge
}

TEST_P(RandomRings, MoreBytesNeverTakeLess) {
  SCOPED_TRACE("seed " + std::to_string(GetParam()));
  std::mt19937_64 random(GetParam());
  for (int i = 0; i < 50; ++i) {
    RandomRing ring(random);
    EXPECT_LT(cost(ring.links, ring.bytes), cost(ring.links, ring.bytes * 1.01 + 1));
  }
}

}  // namespace
}  // namespace ddpsim
