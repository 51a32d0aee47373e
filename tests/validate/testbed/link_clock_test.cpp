#include "validate/testbed/link_clock.hpp"

#include <gtest/gtest.h>

namespace ddpsim::validate {
namespace {

using namespace ddpsim::literals;

constexpr double kNanosecond = 1e-9;

// 1250 bytes take 10 us at 1 Gbit/s.
LinkClock link() {
  return {BytesPerSecond(125e6), 1_ms};
}

TEST(LinkClock, APacketAloneLeavesWholeAndTravels) {
  EXPECT_NEAR(link().arrival(5_s, 1250_B).value(), 5 + 10e-6 + 1e-3, kNanosecond);
}

TEST(LinkClock, PacketsWaitForThoseBefore) {
  auto clock = link();
  clock.arrival(5_s, 1250_B);
  EXPECT_NEAR(clock.arrival(5_s + 1_us, 1250_B).value(), 5 + 20e-6 + 1e-3, kNanosecond);
  EXPECT_NEAR(clock.arrival(5_s + 2_us, 2500_B).value(), 5 + 40e-6 + 1e-3, kNanosecond);
}

TEST(LinkClock, APauseEarnsNoCredit) {
  auto clock = link();
  clock.arrival(5_s, 1250_B);
  EXPECT_NEAR(clock.arrival(6_s, 1250_B).value(), 6 + 10e-6 + 1e-3, kNanosecond);
  EXPECT_NEAR(clock.arrival(6_s, 1250_B).value(), 6 + 20e-6 + 1e-3, kNanosecond);
}

// The delay is no part of what occupies the link: packets travel side by side.
TEST(LinkClock, ManyPacketsTakeTheRateAndOneDelay) {
  auto clock = link();
  Seconds last;
  for (int i = 0; i < 1000; ++i) last = clock.arrival(5_s, 1250_B);
  EXPECT_NEAR(last.value(), 5 + 10e-3 + 1e-3, 1e3 * kNanosecond);
}

}  // namespace
}  // namespace ddpsim::validate
