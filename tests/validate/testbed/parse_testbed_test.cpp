#include "validate/testbed/testbed.hpp"
#include <gtest/gtest.h>

#include "sim/base/source.hpp"

#include "tests/support/errors.hpp"

namespace ddpsim::validate {
namespace {

using testing::brief_error;

TestbedOptions parse(const std::string& text) {
  return parse_testbed({text, {make_source("--testbed", text), 1, 1, static_cast<int>(text.size())}});
}

constexpr const char* kHint = "; write it like rate=1Gbps or rate=1Gbps,delay=1ms";

TEST(ParseTestbed, ReadsRateAndDelayInAnyOrder) {
  EXPECT_EQ(parse("rate=1Gbps").rate, BytesPerSecond(125e6));
  EXPECT_FALSE(parse("rate=1Gbps").delay);
  EXPECT_EQ(parse("delay=250us,rate=12.5MB/s").rate, BytesPerSecond(12.5e6));
  EXPECT_EQ(parse("delay=250us,rate=12.5MB/s").delay, Seconds(250e-6));
  EXPECT_EQ(parse("rate=1Gbps,delay=0s").delay, Seconds(0));
}

TEST(ParseTestbed, PointsAtWhatIsWrong) {
  EXPECT_EQ(brief_error([] { parse("rate=1Gbps,dealy=1ms"); }),
            std::string("--testbed:1:12-16: a testbed has no 'dealy'; did you mean 'delay'?") + kHint);
  EXPECT_EQ(brief_error([] { parse("rate=1Gbps,delay"); }),
            std::string("--testbed:1:12-16: 'delay' has no '='") + kHint);
  EXPECT_EQ(brief_error([] { parse("rate=1Gbps,rate=2Gbps"); }),
            "--testbed:1:12-15: 'rate' is given twice; leave one of them out");
  EXPECT_EQ(brief_error([] { parse("delay=1ms"); }),
            std::string("--testbed:1:1-9: the testbed's rate is missing") + kHint);
  EXPECT_EQ(brief_error([] { parse("delay=1ms,rate=3GHz"); }),
            "--testbed:1:17-19: unknown unit 'GHz'; write a bandwidth like 100Gbps or 12.5GB/s");
}

TEST(ParseTestbed, RefusesWhatLeavesNothingBetweenCommas) {
  EXPECT_EQ(brief_error([] { parse("rate=1Gbps,"); }),
            std::string("--testbed:1:12: a setting is missing here") + kHint);
  EXPECT_TRUE(brief_error([] { parse(",rate=1Gbps"); }).starts_with("--testbed:1:1: a setting is"));
  EXPECT_TRUE(brief_error([] { parse(""); }).starts_with("--testbed:1:1: a setting is missing here"));
  EXPECT_TRUE(brief_error([] { parse("rate="); }).starts_with("--testbed:1:6: "));
}

TEST(ParseTestbed, RefusesWhatNoTestbedCanDo) {
  EXPECT_EQ(brief_error([] { parse("rate=999kbps"); }),
            "--testbed:1:6: '999kbps' is out of range; a testbed's links carry from 1 Mbps to 100 Gbps");
  EXPECT_EQ(brief_error([] { parse("rate=101Gbps"); }),
            "--testbed:1:6: '101Gbps' is out of range; a testbed's links carry from 1 Mbps to 100 Gbps");
  EXPECT_EQ(brief_error([] { parse("rate=1Gbps,delay=2s"); }),
            "--testbed:1:18: '2s' is out of range; a testbed's links delay by 1 s at most");
}

// A frame of 1514 bytes carries 1500 - 20 (IP) - 20 (TCP) - 12 (timestamps) = 1448.
TEST(PayloadRate, IsWhatHeadersLeave) {
  EXPECT_NEAR(payload_rate(BytesPerSecond(125e6)).value(), 119.551e6, 1e3);
}

}  // namespace
}  // namespace ddpsim::validate
