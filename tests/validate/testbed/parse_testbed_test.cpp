#include "validate/testbed/testbed.hpp"
#include <gtest/gtest.h>

#include "sim/base/source.hpp"

#include "tests/support/errors.hpp"

namespace ddpsim::validate {
namespace {

using testing::input_error;

TestbedOptions parse(const std::string& text) {
  return parse_testbed({text, {make_source("--testbed", text), 1, 1, static_cast<int>(text.size())}});
}

constexpr const char* kHint = "\nhint: write it like rate=1Gbps or rate=1Gbps,delay=1ms";

TEST(ParseTestbed, ReadsRateAndDelayInAnyOrder) {
  EXPECT_EQ(parse("rate=1Gbps").rate, BytesPerSecond(125e6));
  EXPECT_FALSE(parse("rate=1Gbps").delay);
  EXPECT_EQ(parse("delay=250us,rate=12.5MB/s").rate, BytesPerSecond(12.5e6));
  EXPECT_EQ(parse("delay=250us,rate=12.5MB/s").delay, Seconds(250e-6));
  EXPECT_EQ(parse("rate=1Gbps,delay=0s").delay, Seconds(0));
}

TEST(ParseTestbed, PointsAtWhatIsWrong) {
  EXPECT_EQ(input_error([] { parse("rate=1Gbps,dealy=1ms"); }),
            std::string("--testbed:1:12: error: a testbed has no 'dealy'; did you mean 'delay'?\n"
                        "  1 | rate=1Gbps,dealy=1ms\n"
                        "    |            ^~~~~") +
                kHint);
  EXPECT_EQ(input_error([] { parse("rate=1Gbps,delay"); }),
            std::string("--testbed:1:12: error: 'delay' has no '='\n"
                        "  1 | rate=1Gbps,delay\n"
                        "    |            ^~~~~") +
                kHint);
  EXPECT_EQ(input_error([] { parse("rate=1Gbps,rate=2Gbps"); }),
            "--testbed:1:12: error: 'rate' is given twice\n"
            "  1 | rate=1Gbps,rate=2Gbps\n"
            "    |            ^~~~\n"
            "hint: leave one of them out");
  EXPECT_EQ(input_error([] { parse("delay=1ms"); }),
            std::string("--testbed:1:1: error: the testbed's rate is missing\n"
                        "  1 | delay=1ms\n"
                        "    | ^~~~~~~~~") +
                kHint);
  EXPECT_EQ(input_error([] { parse("delay=1ms,rate=3GHz"); }),
            "--testbed:1:17: error: unknown unit 'GHz'\n"
            "  1 | delay=1ms,rate=3GHz\n"
            "    |                 ^~~\n"
            "hint: write a bandwidth like 100Gbps or 12.5GB/s");
}

TEST(ParseTestbed, RefusesWhatLeavesNothingBetweenCommas) {
  EXPECT_EQ(input_error([] { parse("rate=1Gbps,"); }),
            std::string("--testbed:1:12: error: a setting is missing here\n"
                        "  1 | rate=1Gbps,\n"
                        "    |            ^") +
                kHint);
  EXPECT_TRUE(input_error([] { parse(",rate=1Gbps"); }).starts_with("--testbed:1:1: error: a setting is"));
  EXPECT_TRUE(input_error([] { parse(""); }).starts_with("--testbed:1:1: error: a setting is missing here"));
  EXPECT_TRUE(input_error([] { parse("rate="); }).starts_with("--testbed:1:6: error: "));
}

TEST(ParseTestbed, RefusesWhatNoTestbedCanDo) {
  EXPECT_TRUE(input_error([] {
                parse("rate=999kbps");
              }).starts_with("--testbed:1:6: error: '999kbps' is out of range\n"));
  EXPECT_TRUE(input_error([] {
                parse("rate=101Gbps");
              }).starts_with("--testbed:1:6: error: '101Gbps' is out of range\n"));
  EXPECT_TRUE(input_error([] {
                parse("rate=1Gbps,delay=2s");
              }).starts_with("--testbed:1:18: error: '2s' is out of range\n"));
}

// A frame of 1514 bytes carries 1500 - 20 (IP) - 20 (TCP) - 12 (timestamps) = 1448.
TEST(PayloadRate, IsWhatHeadersLeave) {
  EXPECT_NEAR(payload_rate(BytesPerSecond(125e6)).value(), 119.551e6, 1e3);
}

}  // namespace
}  // namespace ddpsim::validate
