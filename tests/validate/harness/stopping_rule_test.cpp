#include "validate/harness/stopping_rule.hpp"

#include <algorithm>
#include <numeric>

#include <gtest/gtest.h>

namespace ddpsim::validate {
namespace {

// 1, 2, ..., n, the largest first.
std::vector<double> up_to(int n) {
  std::vector<double> values(static_cast<std::size_t>(n));
  std::iota(values.rbegin(), values.rend(), 1);
  return values;
}

void expect_interval(int n, double lower, double median, double upper) {
  auto interval = median_interval(up_to(n));
  ASSERT_TRUE(interval) << n;
  EXPECT_EQ(interval->lower, lower) << n;
  EXPECT_EQ(interval->median, median) << n;
  EXPECT_EQ(interval->upper, upper) << n;
}

Verdict verdict(const std::vector<double>& values, const Sampling& sampling, double spent = 0) {
  std::vector<Seconds> samples;
  for (double value : values) samples.emplace_back(value);
  return judge(samples, Seconds(spent), sampling);
}

// All five values lie on one side of the median with a probability of 2 / 2^5 = 6.25 %.
TEST(MedianInterval, FiveValuesSayTooLittle) {
  for (int n = 0; n <= 5; ++n) EXPECT_FALSE(median_interval(up_to(n))) << n;
}

// Six: 2 / 2^6 = 3.1 %. But fewer than two of them: 2 (1 + 6) / 2^6 = 21.9 %, so none may be left out. The
// same of eight: 2 (1 + 8) / 2^8 = 7.03 %.
TEST(MedianInterval, OfAFewTheWholeRange) {
  expect_interval(6, 1, 3.5, 6);
  expect_interval(8, 1, 4.5, 8);
}

// Nine: fewer than two, 2 (1 + 9) / 2^9 = 3.9 %; fewer than three, 2 (1 + 9 + 36) / 2^9 = 18 %.
TEST(MedianInterval, OfNineWithoutTheOutermost) {
  expect_interval(9, 2, 5, 8);
}

// Fewer than six of twenty: 2 (1 + 20 + 190 + 1140 + 4845 + 15504) / 2^20 = 2 x 21700 / 1048576 = 4.1 %;
// fewer than seven: 2 (21700 + 38760) / 2^20 = 11.5 %.
TEST(MedianInterval, OfTwentyTheSixthAndTheFifteenth) {
  expect_interval(20, 6, 10.5, 15);
}

// Thirty, of the table in the book: the 10th and the 21st.
TEST(MedianInterval, OfThirty) {
  expect_interval(30, 10, 15.5, 21);
}

TEST(StoppingRule, NotBeforeTheLeast) {
  Sampling sampling{0, 8, 30, 0.005, Seconds(60)};
  EXPECT_EQ(verdict(std::vector<double>(7, 1), sampling), Verdict::go_on);
  EXPECT_EQ(verdict(std::vector<double>(7, 1), sampling, 100), Verdict::go_on);
  EXPECT_EQ(verdict(std::vector<double>(8, 1), sampling), Verdict::settled);
}

TEST(StoppingRule, FewerThanSixNeverSettle) {
  Sampling sampling{0, 1, 30, 0.005, Seconds(60)};
  EXPECT_EQ(verdict(std::vector<double>(5, 1), sampling), Verdict::go_on);
  EXPECT_EQ(verdict(std::vector<double>(6, 1), sampling), Verdict::settled);
}

// Of six values the interval is the whole range: from 0.75 to 1.25 around 1 is 25 % on either side.
TEST(StoppingRule, ThePrecisionHoldsOnBothSides) {
  Sampling just{0, 5, 30, 0.25, Seconds(60)}, narrower{0, 5, 30, 0.24, Seconds(60)};
  EXPECT_EQ(verdict({1, 0.75, 1, 1, 1.25, 1}, just), Verdict::settled);
  EXPECT_EQ(verdict({1, 1, 1, 1, 1.25, 1}, narrower), Verdict::go_on);
  EXPECT_EQ(verdict({1, 0.75, 1, 1, 1, 1}, narrower), Verdict::go_on);
}

// Of nine values one at either end does not count.
TEST(StoppingRule, OutliersDoNotCount) {
  Sampling sampling{0, 5, 30, 0.005, Seconds(60)};
  EXPECT_EQ(verdict({1, 1, 1, 100, 1, 1, 1, 0.01, 1}, sampling), Verdict::settled);
  EXPECT_EQ(verdict({1, 1, 1, 100, 1, 1, 100, 1, 1}, sampling), Verdict::go_on);
}

TEST(StoppingRule, TheMostIsEnough) {
  Sampling sampling{0, 2, 4, 0.005, Seconds(60)};
  EXPECT_EQ(verdict({1, 2, 3}, sampling), Verdict::go_on);
  EXPECT_EQ(verdict({1, 2, 3, 4}, sampling), Verdict::give_up);
  // The last one settles it.
  sampling.most = 6;
  EXPECT_EQ(verdict({1, 1, 1, 1, 1, 1}, sampling), Verdict::settled);
}

TEST(StoppingRule, TheBudget) {
  Sampling sampling{0, 3, 30, 0.005, Seconds(10)};
  EXPECT_EQ(verdict({1, 2, 3}, sampling, 9.9), Verdict::go_on);
  EXPECT_EQ(verdict({1, 2, 3}, sampling, 10), Verdict::give_up);
  EXPECT_EQ(verdict(std::vector<double>(6, 2), sampling, 12), Verdict::settled);
}

}  // namespace
}  // namespace ddpsim::validate
