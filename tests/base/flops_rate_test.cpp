// Rates of operations as text and back.
#include <gtest/gtest.h>

#include "sim/base/quantity.hpp"

#include "tests/support/errors.hpp"

namespace ddpsim {
namespace {

using testing::brief_error;

Located located(const std::string& text) {
  return {text, {make_source("q", text), 1, 1, static_cast<int>(text.size())}};
}

TEST(FlopsRate, PowersOf1000) {
  auto rate = [](const std::string& text) { return parse_flops_rate(located(text)).value(); };
  EXPECT_EQ(rate("5FLOP/s"), 5);
  EXPECT_EQ(rate("1kFLOP/s"), 1e3);
  EXPECT_EQ(rate("1.5 MFLOP/s"), 1.5e6);
  EXPECT_EQ(rate("44GFLOP/s"), 44e9);
  EXPECT_DOUBLE_EQ(rate("66.9TFLOP/s"), 66.9e12);
  EXPECT_EQ(rate("2.25PFLOP/s"), 2.25e15);
}

TEST(FlopsRate, Errors) {
  auto error = [](const std::string& text) { return brief_error([&] { parse_flops_rate(located(text)); }); };
  EXPECT_EQ(error("66.9"), "q:1:1-4: '66.9' has no unit; write a rate of operations like 66.9TFLOP/s");
  EXPECT_EQ(error("66.9TiFLOP/s"),
            "q:1:5-12: unknown unit 'TiFLOP/s'; write a rate of operations like 66.9TFLOP/s");
  EXPECT_EQ(error("3.35TB/s"),
            "q:1:5-8: '3.35TB/s' is a bandwidth, not a rate of operations; write a rate of operations like "
            "66.9TFLOP/s");
  EXPECT_EQ(error("0TFLOP/s"), "q:1:1-8: a rate of zero computes nothing; write the peak of the data sheet");
  EXPECT_EQ(error("1e21FLOP/s"), "q:1:1-10: '1e21FLOP/s' is out of range; it must be below 10^21 FLOP/s");
  EXPECT_EQ(brief_error([] { parse_bandwidth(located("66.9TFLOP/s")); }),
            "q:1:5-11: '66.9TFLOP/s' is a rate of operations, not a bandwidth; write a bandwidth like "
            "100Gbps or 12.5GB/s");
}

TEST(Format, FlopsRateInPowersOf1000) {
  EXPECT_EQ(format_flops_rate(FlopsPerSecond(66.9e12)), "66.9 TFLOP/s");
  EXPECT_EQ(format_flops_rate(FlopsPerSecond(2.25e15)), "2.25 PFLOP/s");
  EXPECT_EQ(format_flops_rate(FlopsPerSecond(999.99e9)), "1 TFLOP/s");
}

}  // namespace
}  // namespace ddpsim
