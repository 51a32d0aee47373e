#include "sim/config/sweep_axes.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/config/overrides.hpp"
#include "sim/config/reader.hpp"

#include "tests/config/text.hpp"

namespace ddpsim::config {
namespace {

using testing::brief_error;
using ::testing::ElementsAre;
using testing::parse;

std::vector<SweepAxis> axes(const std::string& text) {
  Value root = parse(text);
  return take_sweep_axes(root);
}

// The values of the only axis, as text.
std::vector<std::string> values(const std::string& axis) {
  auto taken = axes("sweep: {a: " + axis + "}\n");
  std::vector<std::string> out;
  for (const auto& value : taken.at(0).values) out.push_back(value.scalar);
  return out;
}

std::string error_of(const std::string& axis) {
  return brief_error([&] { axes("sweep:\n  a: " + axis + "\n"); });
}

TEST(Sweep, NoSection) {
  Value root = parse("a: 1\n");
  EXPECT_TRUE(take_sweep_axes(root).empty());
  EXPECT_EQ(to_flow_text(root), "{a: 1}");
}

TEST(Sweep, TheSectionIsTakenOut) {
  Value root = parse("a: 1\nsweep: {x.y: [1, 2], b: [x]}\nc: 2\n");
  auto taken = take_sweep_axes(root);
  EXPECT_EQ(to_flow_text(root), "{a: 1, c: 2}");
  ASSERT_EQ(taken.size(), 2U);
  EXPECT_EQ(taken[0].key, "x.y");
  EXPECT_EQ(taken[0].span.column, 9);
  EXPECT_EQ(taken[0].values.size(), 2U);
  EXPECT_EQ(taken[1].key, "b");
}

TEST(SweepList, ValuesAsTheyAre) {
  EXPECT_THAT(values("[8, 64, 1024]"), ElementsAre("8", "64", "1024"));
  EXPECT_THAT(values("[ring, 25 MiB]"), ElementsAre("ring", "25 MiB"));
}

// Lists and maps are values as well; [] is the empty list.
TEST(SweepList, ListsAndMaps) {
  auto taken = axes("sweep: {a: [[], [{rank: 3, slowdown: 1.2}], {b: 2}]}\n").at(0).values;
  ASSERT_EQ(taken.size(), 3U);
  EXPECT_EQ(text_of(taken[0]), "[]");
  EXPECT_EQ(text_of(taken[1]), "[{rank: 3, slowdown: 1.2}]");
  EXPECT_EQ(text_of(taken[2]), "{b: 2}");
}

// 1 MiB, 4 MiB, ... are 4^i: the factor of a step is (256 MiB / 1 MiB)^(1/4) = 4.
TEST(SweepRange, LogarithmicSizes) {
  EXPECT_THAT(values("{from: 1MiB, to: 256MiB, points: 5, spacing: log}"),
              ElementsAre("1048576B", "4194304B", "16777216B", "67108864B", "268435456B"));
}

// 1000^(1/3) = 10: 1, 10, 100, 1000.
TEST(SweepRange, LogarithmicNumbersAndTimes) {
  EXPECT_THAT(values("{from: 1, to: 1000, points: 4, spacing: log}"), ElementsAre("1", "10", "100", "1000"));
  auto times = axes("sweep: {a: {from: 1us, to: 1ms, points: 4, spacing: log}}\n").at(0).values;
  ASSERT_EQ(times.size(), 4U);
  EXPECT_DOUBLE_EQ(as_seconds(times[1]).value(), 1e-5);
  EXPECT_EQ(as_seconds(times[3]).value(), 1e-3);
}

// Steps of (5 - 1) / 4 = 1 MiB; linear is the default.
TEST(SweepRange, Linear) {
  EXPECT_THAT(values("{from: 1MiB, to: 5MiB, points: 5}"),
              ElementsAre("1048576B", "2097152B", "3145728B", "4194304B", "5242880B"));
  EXPECT_THAT(values("{from: 0B, to: 10B, points: 3, spacing: linear}"), ElementsAre("0B", "5B", "10B"));
  EXPECT_THAT(values("{from: 1GB/s, to: 2GB/s, points: 3}"),
              ElementsAre("1000000000B/s", "1500000000B/s", "2000000000B/s"));
  EXPECT_THAT(values("{from: 0.5, to: 1.5, points: 3}"), ElementsAre("0.5", "1", "1.5"));
  EXPECT_THAT(values("{from: -1, to: 1, points: 3}"), ElementsAre("-1", "0", "1"));
}

// Ends with different units of one dimension.
TEST(SweepRange, UnitsOfOneDimension) {
  EXPECT_THAT(values("{from: 1KiB, to: 1MiB, points: 2}"), ElementsAre("1024B", "1048576B"));
}

// 1 + i * 0.75 B, i = 0..4: 1, 1.75, 2.5, 3.25, 4 bytes.
TEST(SweepRange, SizesAreWholeBytes) {
  EXPECT_THAT(values("{from: 1B, to: 4B, points: 5}"), ElementsAre("1B", "2B", "3B", "4B"));
}

// 1 to 16 in 5 logarithmic points are powers of 2; from 2 to 3 only two whole numbers exist.
TEST(SweepRange, WholeNumbersStayWhole) {
  EXPECT_THAT(values("{from: 1, to: 16, points: 5, spacing: log}"), ElementsAre("1", "2", "4", "8", "16"));
  EXPECT_THAT(values("{from: 2, to: 3, points: 10}"), ElementsAre("2", "3"));
  EXPECT_THAT(values("{from: 1000000, to: 3000000, points: 3}"),
              ElementsAre("1000000", "2000000", "3000000"));
}

TEST(SweepRange, OnePoint) {
  EXPECT_THAT(values("{from: 3, to: 9, points: 1}"), ElementsAre("3"));
}

// In doubles 0.3 + (0.9 - 0.3) and 0.3 * (0.9 / 0.3) are both not 0.9; the ends are what the user wrote.
TEST(SweepRange, TheEndsAreExact) {
  for (int points = 2; points <= 40; ++points)
    for (std::string spacing : {"log", "linear"}) {
      auto range = "{from: 0.3, to: 0.9, points: " + std::to_string(points) + ", spacing: " + spacing + "}";
      auto all = values(range);
      EXPECT_EQ(all.size(), static_cast<std::size_t>(points));
      EXPECT_EQ(all.front(), "0.3") << range;
      EXPECT_EQ(all.back(), "0.9") << range;
    }
}

TEST(SweepErrors, Refused) {
  EXPECT_EQ(error_of("{from: 1MiB, to: 1KiB, points: 3}"),
            "a.yaml:2:23-26: 'to' (1KiB) is not above 'from' (1MiB); swap them");
  EXPECT_EQ(error_of("{from: 8, to: 8, points: 2}"),
            "a.yaml:2:20: 'to' (8) is not above 'from' (8); swap them");
  EXPECT_EQ(
      error_of("{from: 0B, to: 1MiB, points: 3, spacing: log}"),
      "a.yaml:2:13-14: a logarithmic range cannot start at zero; start above zero, or use spacing: linear");
  EXPECT_EQ(error_of("{from: 1MiB, to: 5us, points: 3}"),
            "a.yaml:2:24-25: '5us' is a time, not a size; write a size like 25MiB");
  EXPECT_EQ(error_of("{from: 1, to: 5us, points: 3}"),
            "a.yaml:2:21-22: '5us' is not a plain number; write the bare number, without a unit");
  EXPECT_EQ(error_of("{from: ring, to: 5us, points: 3}"),
            "a.yaml:2:13-16: 'ring' is neither a quantity nor a number; write it like 1MiB");
  EXPECT_EQ(error_of("{from: 1, to: 5, points: 0}"),
            "a.yaml:2:31: 0 is out of range; write a number from 1 to 100000");
  EXPECT_EQ(error_of("{from: 1, to: 5, points: 100001}"),
            "a.yaml:2:31-36: 100001 is out of range; write a number from 1 to 100000");
  EXPECT_EQ(error_of("{from: 1, to: 5}"), "a.yaml:2:6: 'sweep.a' lacks the key 'points'; add 'points: ...'");
  EXPECT_EQ(error_of("{from: 1, to: 5, points: 2, step: 1}"),
            "a.yaml:2:34-37: unknown key 'step'; 'sweep.a' knows from, to, points, spacing");
  EXPECT_EQ(error_of("{from: 1, to: 5, points: 2, spacing: lin}"),
            "a.yaml:2:43-45: unknown value 'lin'; did you mean 'linear'?; one of log, linear");
  EXPECT_EQ(error_of("5"),
            "a.yaml:2:6: the axis 'a' is a single value; write a list, or {from: 1MiB, to: 1GiB, points: 30, "
            "spacing: log}");
  EXPECT_EQ(error_of("[]"), "a.yaml:2:6: the axis 'a' has no values; list at least one");
  EXPECT_EQ(error_of("[1, null]"),
            "a.yaml:2:10: a value of this axis is nothing; write the value, or [] for an empty list");
  EXPECT_EQ(brief_error([] { axes("sweep: [1, 2]\n"); }),
            "a.yaml:1:1-5: 'sweep' is a map from scenario keys to values; write it like 'ddp.bucket_cap: "
            "[1MiB, 25MiB]' below it");
}

TEST(SweepErrors, AValueTwice) {
  EXPECT_EQ(error_of("[8, 64, 8]"), "a.yaml:2:14: '8' appears twice on this axis; remove one");
  EXPECT_THAT(error_of("[[1, {b: 2}], [1], [1, {b: 2}]]"),
              ::testing::StartsWith("a.yaml:2:25: '[1, {b: 2}]' appears twice on this axis; "));
  std::string list = "[0";
  for (int i = 1; i < 5000; ++i) list += ", " + std::to_string(i);
  EXPECT_THAT(error_of(list + ", 0]"), ::testing::HasSubstr(": '0' appears twice on this axis; "));
}

TEST(SweepErrors, ASweepOfTheSweep) {
  EXPECT_EQ(brief_error([] { axes("sweep: {sweep.a: [1]}\n"); }),
            "a.yaml:1:9-15: a sweep cannot sweep itself; name a scenario key");
}

// 1000 * 1000 points are allowed, twice as many are not; the axis that makes them too many is named.
TEST(SweepErrors, MoreThanAHundredThousandPoints) {
  std::string thousand = "{from: 1, to: 1000, points: 1000}", hundred = "{from: 1, to: 100, points: 100}";
  EXPECT_EQ(axes("sweep: {a: " + thousand + ", b: " + hundred + "}\n").size(), 2U);
  EXPECT_EQ(brief_error([&] { axes("sweep:\n  a: " + thousand + "\n  b: " + hundred + "\n  c: [1, 2]\n"); }),
            "a.yaml:4:3: the sweep has more than 100000 points; use fewer values");
}

}  // namespace
}  // namespace ddpsim::config
