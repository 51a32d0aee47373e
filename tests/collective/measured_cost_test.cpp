#include "sim/collective/measured_cost.hpp"

#include <cmath>
#include <random>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/base/check.hpp"

namespace ddpsim {
namespace {

using ::testing::ElementsAre;

struct Row {
  double bytes, seconds;
};

MeasuredCost make_cost(const std::vector<Row>& rows) {
  std::vector<MeasuredPoint> points;
  for (const auto& row : rows)
    points.push_back({Bytes(row.bytes), Seconds(row.seconds), Seconds(row.seconds)});
  return MeasuredCost(points);
}

double at(const MeasuredCost& cost, double bytes) {
  return cost(Bytes(bytes)).value();
}

std::vector<double> times(const MeasuredCost& cost) {
  std::vector<double> out;
  for (const auto& point : cost.points()) out.push_back(point.time.value());
  return out;
}

TEST(MeasuredCost, ExactAtItsPoints) {
  std::vector<Row> rows{{4, 0.1}, {7, 0.3}, {1000, 0.7}, {1001, 1.1}};
  auto cost = make_cost(rows);
  for (const auto& row : rows) EXPECT_EQ(at(cost, row.bytes), row.seconds);
}

// A quarter of the way from (100 B, 2 s) to (500 B, 6 s): 3 s.
TEST(MeasuredCost, LinearBetweenTwoPoints) {
  auto cost = make_cost({{100, 2}, {500, 6}, {1000, 6}});
  EXPECT_DOUBLE_EQ(at(cost, 200), 3);
  EXPECT_DOUBLE_EQ(at(cost, 499), 5.99);
  EXPECT_DOUBLE_EQ(at(cost, 750), 6);
}

// 1 ms + bytes / 1 GB/s at any sizes gives that line back between them.
TEST(MeasuredCost, AnAffineTableIsReproduced) {
  auto line = [](double bytes) { return 1e-3 + bytes / 1e9; };
  std::vector<Row> rows;
  for (double bytes : {8.0, 1000.0, 4096.0, 1e6, 26214400.0, 1e9}) rows.push_back({bytes, line(bytes)});
  auto cost = make_cost(rows);
  EXPECT_TRUE(cost.repaired_points().empty());
  for (double bytes = 8; bytes < 1e9; bytes = bytes * 1.3 + 1)
    EXPECT_NEAR(at(cost, bytes), line(bytes), 1e-12 * line(bytes)) << bytes;
}

// From (500 B, 6 s) over (100 B, 2 s) on to 0 B: 1 s, the latency alone.
TEST(MeasuredCost, TheFirstLineGoesOnBelowTheFirstPoint) {
  auto cost = make_cost({{100, 2}, {500, 6}});
  EXPECT_DOUBLE_EQ(at(cost, 0), 1);
  EXPECT_DOUBLE_EQ(at(cost, 50), 1.5);
  EXPECT_EQ(at(cost, 100), 2);
}

// From (500 B, 20 s) over (100 B, 2 s) the line reaches 0 s at 55.6 B; 2 s / 100 B is above it everywhere.
TEST(MeasuredCost, ASteepFirstLineGivesWayToProportion) {
  auto cost = make_cost({{100, 2}, {500, 20}});
  EXPECT_DOUBLE_EQ(at(cost, 50), 1);
  EXPECT_DOUBLE_EQ(at(cost, 99), 1.98);
}

// At the last point 500 B / 6 s; three times the bytes take 18 s.
TEST(MeasuredCost, ConstantBandwidthBeyondTheLastPoint) {
  auto cost = make_cost({{100, 2}, {500, 6}});
  EXPECT_DOUBLE_EQ(at(cost, 1500), 18);
  EXPECT_DOUBLE_EQ(at(cost, 5e9), 6e7);
}

TEST(MeasuredCost, OnePoint) {
  auto cost = make_cost({{100, 2}});
  EXPECT_EQ(at(cost, 50), 2);
  EXPECT_EQ(at(cost, 100), 2);
  EXPECT_DOUBLE_EQ(at(cost, 200), 4);
}

TEST(MeasuredCost, NoPoints) {
  EXPECT_THROW(make_cost({}), InternalError);
}

// 8 s before 2 s become sqrt(8 * 2) = 4 s each; neighbours that fit stay to the last bit.
TEST(MonotoneRepair, TwoPointsBecomeTheirGeometricMean) {
  auto cost = make_cost({{1, 0.3}, {2, 8}, {3, 2}, {4, 5.1}});
  EXPECT_THAT(times(cost), ElementsAre(0.3, ::testing::DoubleEq(4), ::testing::DoubleEq(4), 5.1));
}

// 1 before 16 before 2 before 1: the mean of 16 and 2, sqrt(32) = 5.66, is above the last one, so all three
// are pooled: (16 * 2 * 1)^(1/3) = 3.1748.
TEST(MonotoneRepair, PoolsGrowUntilNothingDecreases) {
  auto cost = make_cost({{1, 1}, {2, 16}, {3, 2}, {4, 1}, {5, 9}});
  double mean = std::cbrt(32.0);
  EXPECT_NEAR(mean, 3.1748, 1e-4);
  EXPECT_THAT(times(cost), ElementsAre(1, ::testing::DoubleEq(mean), ::testing::DoubleEq(mean),
                                       ::testing::DoubleEq(mean), 9));
}

// 6, then 8 and 2 pooled to 4, which is below 6: all three, (6 * 8 * 2)^(1/3) = 4.5789. A pool joins what is
// before it.
TEST(MonotoneRepair, PoolsGrowBackwards) {
  auto cost = make_cost({{1, 6}, {2, 8}, {3, 2}});
  double mean = std::cbrt(96.0);
  EXPECT_NEAR(mean, 4.5789, 1e-4);
  EXPECT_THAT(times(cost), ::testing::Each(::testing::DoubleEq(mean)));
}

TEST(MonotoneRepair, SaysWhatItChanged) {
  auto repaired = make_cost({{1, 0.3}, {2, 8}, {3, 2}, {4, 5.1}}).repaired_points();
  ASSERT_EQ(repaired.size(), 2U);
  EXPECT_EQ(repaired[0].bytes, Bytes(2));
  EXPECT_EQ(repaired[0].measured, Seconds(8));
  EXPECT_DOUBLE_EQ(repaired[0].time.value(), 4);
  EXPECT_EQ(repaired[1].bytes, Bytes(3));
  EXPECT_EQ(repaired[1].measured, Seconds(2));
}

TEST(MonotoneRepair, AMonotoneTableStaysAsItIs) {
  std::vector<Row> rows{{1, 0.1}, {2, 0.1}, {3, 0.7}, {4, std::nextafter(0.7, 1)}, {5, 1e3}};
  auto cost = make_cost(rows);
  EXPECT_THAT(times(cost), ElementsAre(0.1, 0.1, 0.7, std::nextafter(0.7, 1), 1e3));
  EXPECT_TRUE(cost.repaired_points().empty());
}

// exp(log(3)) is above 3 in the last digit, so a mean of 9 and 1 must not be taken for equal to a 3 that
// follows.
TEST(MonotoneRepair, RoundingLeavesNoDecrease) {
  auto repaired = times(make_cost({{1, 9}, {2, 1}, {3, 3}}));
  EXPECT_LE(repaired[1], repaired[2]);
  auto one_digit = times(make_cost({{1, std::nextafter(1e3, 2e3)}, {2, 1e3}}));
  EXPECT_LE(one_digit[0], one_digit[1]);
}

class RandomTables : public ::testing::TestWithParam<std::uint64_t> {};
INSTANTIATE_TEST_SUITE_P(Seeds, RandomTables, ::testing::Range<std::uint64_t>(1, 21));

// Half of the tables with times from few values, so that means and ties meet.
std::vector<Row> random_table(std::mt19937_64& random) {
  std::vector<Row> rows;
  bool few = random() % 2 == 0;
  double bytes = 0;
  for (auto n = 1 + random() % 15; n > 0; --n) {
    bytes += 1 + static_cast<double>(random() % 400);
    double unit = std::uniform_real_distribution<double>(0.01, 10)(random);
    rows.push_back({bytes, few ? 1 + static_cast<double>(random() % 20) : unit});
  }
  return rows;
}

TEST_P(RandomTables, TimeNeverDecreases) {
  SCOPED_TRACE("seed " + std::to_string(GetParam()));
  std::mt19937_64 random(GetParam());
  for (int i = 0; i < 100; ++i) {
    auto rows = random_table(random);
    auto cost = make_cost(rows);
    double before = 0;
    for (double bytes = 0; bytes < 1.2 * rows.back().bytes; ++bytes) {
      double now = at(cost, bytes);
      ASSERT_GE(now, before) << "table " << i << ", " << bytes << " bytes";
      before = now;
    }
  }
}

TEST_P(RandomTables, ExactAtTheRepairedPoints) {
  SCOPED_TRACE("seed " + std::to_string(GetParam()));
  std::mt19937_64 random(GetParam());
  for (int i = 0; i < 100; ++i) {
    auto cost = make_cost(random_table(random));
    for (const auto& point : cost.points()) EXPECT_EQ(cost(point.bytes), point.time);
  }
}

TEST_P(RandomTables, RepairingTwiceChangesNothingMore) {
  SCOPED_TRACE("seed " + std::to_string(GetParam()));
  std::mt19937_64 random(GetParam());
  for (int i = 0; i < 100; ++i) {
    auto once = make_cost(random_table(random));
    std::vector<Row> rows;
    for (const auto& point : once.points()) rows.push_back({point.bytes.value(), point.time.value()});
    auto twice = make_cost(rows);
    EXPECT_EQ(times(twice), times(once));
    EXPECT_TRUE(twice.repaired_points().empty());
  }
}

// Pooling keeps the product of all times, and stays between the smallest and the largest.
TEST_P(RandomTables, TheGeometricMeanOfTheTableStays) {
  SCOPED_TRACE("seed " + std::to_string(GetParam()));
  std::mt19937_64 random(GetParam());
  int repaired_tables = 0;
  for (int i = 0; i < 100; ++i) {
    auto rows = random_table(random);
    auto cost = make_cost(rows);
    double before = 0, after = 0;
    for (const auto& row : rows) before += std::log(row.seconds);
    for (double time : times(cost)) after += std::log(time);
    EXPECT_NEAR(before, after, 1e-9);
    repaired_tables += !cost.repaired_points().empty();
  }
  EXPECT_GT(repaired_tables, 50);  // the tables are not monotone by themselves
}

}  // namespace
}  // namespace ddpsim
