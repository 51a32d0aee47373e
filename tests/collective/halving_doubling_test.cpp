#include <bit>

#include <gtest/gtest.h>

#include "sim/collective/algorithms.hpp"
#include "sim/collective/verify.hpp"

#include "tests/collective/wirings.hpp"

namespace ddpsim {
namespace {

using testing::bytes_sent;
using testing::wiring_of;

class HalvingDoubling : public ::testing::TestWithParam<int> {
 protected:
  int n = GetParam();
  int power = static_cast<int>(std::bit_floor(unsigned(n)));
  Wiring wiring = wiring_of(1, n);
  CollectiveSchedule schedule = halving_doubling(wiring);
};
INSTANTIATE_TEST_SUITE_P(Ranks, HalvingDoubling,
                         ::testing::Values(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 32, 64),
                         ::testing::PrintToStringParamName());

TEST_P(HalvingDoubling, IsRight) {
  EXPECT_EQ(find_schedule_error(schedule).value_or("none"), "none");
}

// log2 stages of exchanged halves, log2 of exchanged results; beyond a power of two one more at each end.
TEST_P(HalvingDoubling, Stages) {
  int levels = std::bit_width(unsigned(power)) - 1;
  EXPECT_EQ(schedule.algorithm, "halving_doubling");
  EXPECT_EQ(schedule.stages.size(), std::size_t(2 * levels + (n > power ? 2 : 0)));
}

// A rank of the power of two p sends S/2, S/4 ... S/p while halving, (p-1)/p S together, and the same while
// doubling. A rank beyond first sends all of its own, and its partner all of the result at the end.
TEST_P(HalvingDoubling, BytesPerRank) {
  Bytes S(26214400);
  double exchanged = 2.0 * (power - 1) / power * S.value();
  for (int rank = 0; rank < n; ++rank) {
    double expected = rank >= power ? S.value() : rank < n - power ? exchanged + S.value() : exchanged;
    EXPECT_NEAR(bytes_sent(schedule, wiring, rank, S), expected, 1e-6) << rank;
  }
}

// Eight ranks: pairs at distance 1 share the whole buffer, at distance 2 a half, at distance 4 a quarter; the
// way back is the same in reverse.
TEST(HalvingDoublingOf, Eight) {
  auto schedule = halving_doubling(wiring_of(1, 8));
  std::vector<int> distances = {1, 2, 4, 4, 2, 1};
  ASSERT_EQ(schedule.stages.size(), distances.size());
  for (std::size_t s = 0; s < distances.size(); ++s) {
    const Stage& stage = schedule.stages[s];
    EXPECT_EQ(stage.operation, s < 3 ? Operation::reduce_scatter : Operation::all_gather);
    ASSERT_EQ(stage.channels.size(), 4U);
    for (const auto& pair : stage.channels) {
      EXPECT_EQ(pair.pattern, Pattern::ring);
      EXPECT_EQ(pair.part.of, distances[s]);
      ASSERT_EQ(pair.edges.size(), 2U);
      EXPECT_EQ(pair.edges[0].to - pair.edges[0].from, distances[s]);
    }
  }
}

// Six ranks: 4 and 5 add theirs to 0 and 1 and get the result from there.
TEST(HalvingDoublingOf, Six) {
  auto schedule = halving_doubling(wiring_of(1, 6));
  for (bool first : {true, false}) {
    const Stage& stage = first ? schedule.stages.front() : schedule.stages.back();
    ASSERT_EQ(stage.channels.size(), 2U);
    for (int i = 0; i < 2; ++i) {
      const Channel& channel = stage.channels[i];
      EXPECT_EQ(channel.pattern, Pattern::pipeline);
      EXPECT_EQ(channel.part.of, 1);
      EXPECT_EQ(channel.depth, 1);
      ASSERT_EQ(channel.edges.size(), 1U);
      EXPECT_EQ(channel.edges[0].from, first ? 4 + i : i);
      EXPECT_EQ(channel.edges[0].to, first ? i : 4 + i);
      EXPECT_EQ(channel.edges[0].reduce, first);
    }
  }
}

}  // namespace
}  // namespace ddpsim
