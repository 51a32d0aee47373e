// The closed form of one unit against playing it through, and where it says the unit is after a while.
#include "sim/collective/time_alone.hpp"

#include <cmath>
#include <random>

#include <gtest/gtest.h>

#include "sim/base/check.hpp"

#include "tests/collective/plays.hpp"
#include "tests/collective/ports.hpp"
#include "tests/collective/wirings.hpp"

namespace ddpsim {
namespace {

using testing::play;
using testing::Ports;
using testing::some_orders;

void expect_equal(Seconds actual, double expected) {
  EXPECT_NEAR(actual.value(), expected, 1e-12 * expected);
}

// What fold makes of one schedule of one stage.
struct Folded {
  Folded(const Ports& ports, const CollectiveSchedule& schedule) : plan(fold(ports.traffic({&schedule}))) {}

  [[nodiscard]] const FlowUnit& unit() const { return plan.groups.at(0).plan.stages.at(0).units.at(0); }
  TrafficPlan plan;
};

constexpr double MiB = 1048576;

// 14 rounds of 5 us + 262.144 us.
TEST(TimeAloneOf, ARing) {
  Ports ports(8);
  Folded folded(ports, ports.ring());
  TimeAlone time(folded.unit(), folded.plan.links);
  ASSERT_TRUE(time.can_stop_between_rounds());
  expect_equal(time(Bytes(25 * MiB)), 3.740016e-3);
  expect_equal(time.rest(Bytes(25 * MiB), 4), 10 * 267.144e-6);
  EXPECT_EQ(time.rest(Bytes(25 * MiB), 14), Seconds(0));
}

// Five ranks with a slow third of four edges. 4 MiB are 16 chunks in 19 rounds; the slow edge is at work in
// all but rounds 0, 1 and 18.
TEST(TimeAloneOf, APipeline) {
  Ports ports(5);
  ports.capacities[4] = BytesPerSecond(6e9);
  Folded folded(ports, ports.chain());
  TimeAlone time(folded.unit(), folded.plan.links);
  double fast = 5e-6 + 262144 / 12.5e9, slow = 5e-6 + 262144 / 6e9;
  expect_equal(time(Bytes(4 * MiB)), 3 * fast + 16 * slow);
  expect_equal(time.rest(Bytes(4 * MiB), 1), 2 * fast + 16 * slow);
  expect_equal(time.rest(Bytes(4 * MiB), 10), fast + 8 * slow);
  expect_equal(time.rest(Bytes(4 * MiB), 18), fast);
}

// A single chunk is on one edge at a time, so that the slow edge's round is the third of four.
TEST(TimeAloneOf, APipelineWithFewerChunksThanLevels) {
  Ports ports(5);
  ports.capacities[4] = BytesPerSecond(6e9);
  Folded folded(ports, ports.chain());
  TimeAlone time(folded.unit(), folded.plan.links);
  double fast = 5e-6 + 1000 / 12.5e9, slow = 5e-6 + 1000 / 6e9;
  expect_equal(time(Bytes(1000)), 3 * fast + slow);
  expect_equal(time.rest(Bytes(1000), 2), slow + fast);
  expect_equal(time.rest(Bytes(1000), 3), fast);
}

// A ring and a pair of trees have no rounds in common to stop between.
TEST(TimeAloneOf, ChannelsThatShareLinks) {
  Ports ports(4);
  auto schedule = ports.ring();
  schedule.stages[0].channels.push_back(double_binary_tree(ports.wiring()).stages[0].channels[0]);
  Folded folded(ports, schedule);
  ASSERT_EQ(folded.unit().channels.size(), 2U);
  TimeAlone time(folded.unit(), folded.plan.links);
  EXPECT_FALSE(time.can_stop_between_rounds());
  expect_equal(time(Bytes(1e6)), play(folded.unit(), folded.plan.links, Bytes(1e6)).value());
  EXPECT_EQ(time.rest(Bytes(1e6), 0), time(Bytes(1e6)));
  EXPECT_THROW(static_cast<void>(time.rest(Bytes(1e6), 1)), InternalError);
}

// Two rounds of 40 us latency and 20 us to send 20,000 B. After 70 us, 10 us of the second's latency are
// over; 45 us into the second, a quarter is sent.
TEST(TimeAloneProgress, ByHand) {
  Ports ports(3, Seconds(40e-6), BytesPerSecond(1e9));
  Folded folded(ports, ring(Operation::reduce_scatter, ports.wiring(), {{0, 1, 2}}));
  TimeAlone time(folded.unit(), folded.plan.links);
  expect_equal(time(Bytes(60000)), 120e-6);
  auto progress = time.progress(Bytes(60000), 0, Seconds(70e-6)).channels.at(0);
  EXPECT_EQ(progress.round, 1);
  ASSERT_EQ(progress.flows.size(), 1U);
  EXPECT_NEAR(progress.flows[0].latency_left.value(), 30e-6, 1e-15);
  progress = time.progress(Bytes(60000), 1, Seconds(45e-6)).channels.at(0);
  EXPECT_EQ(progress.round, 1);
  EXPECT_EQ(progress.flows.at(0).latency_left, Seconds(0));
  EXPECT_NEAR(progress.flows.at(0).bytes_left.value(), 15000, 1e-6);
  // A hair before the end of a round, or of all, is there.
  progress = time.progress(Bytes(60000), 0, Seconds(60e-6 * (1 - 1e-13))).channels.at(0);
  EXPECT_EQ(progress.round, 1);
  EXPECT_NEAR(progress.flows.at(0).latency_left.value(), 40e-6, 1e-15);
  EXPECT_TRUE(time.progress(Bytes(60000), 0, Seconds(120e-6 * (1 - 1e-13))).is_over());
  EXPECT_TRUE(time.progress(Bytes(60000), 0, Seconds(120e-6)).is_over());
  EXPECT_TRUE(time.progress(Bytes(60000), 1, Seconds(60e-6)).is_over());
}

class RandomUnits : public ::testing::TestWithParam<std::uint64_t> {
 protected:
  RandomUnits() {
    for (auto& latency : ports.latencies)
      latency = pick<Seconds>({Seconds(0), Seconds(5e-6), Seconds(50e-6)});
    for (auto& capacity : ports.capacities)
      capacity = pick<BytesPerSecond>({BytesPerSecond(3e9), BytesPerSecond(12.5e9), BytesPerSecond(12.5e9)});
    auto orders = some_orders(n, 3);
    auto wiring = ports.wiring();
    schedules = {ports.ring(), ports.chain(), double_binary_tree(wiring), double_binary_tree(wiring, 3),
                 ring(Operation::all_reduce, wiring, orders)};
    for (const auto& schedule : schedules) units.emplace_back(ports, schedule);
  }
  template <class T>
  T pick(std::vector<T> from) {
    return from[random() % from.size()];
  }

  std::mt19937_64 random{GetParam()};
  int n = 2 + static_cast<int>(random() % 9);
  Ports ports{n};
  std::vector<CollectiveSchedule> schedules;
  std::vector<Folded> units;
  std::vector<Bytes> buffers = {Bytes(1), Bytes(1e5), Bytes(2e6)};
};
INSTANTIATE_TEST_SUITE_P(Seeds, RandomUnits, ::testing::Range<std::uint64_t>(1, 21));

TEST_P(RandomUnits, PlayedThrough) {
  for (const auto& folded : units) {
    TimeAlone time(folded.unit(), folded.plan.links);
    for (Bytes buffer : buffers)
      for (int again = 0; again < 2; ++again)
        expect_equal(time(buffer), play(folded.unit(), folded.plan.links, buffer).value());
  }
}

TEST_P(RandomUnits, RestPlayedThrough) {
  for (const auto& folded : units) {
    TimeAlone time(folded.unit(), folded.plan.links);
    if (!time.can_stop_between_rounds()) continue;
    int rounds = folded.unit().channels[0].rounds(buffers[1]);
    for (int done = 0; done < rounds; ++done) {
      FluidNetwork network(folded.plan.links);
      double end = -1;
      FlowRun run(network, folded.unit(), buffers[1], [&] { end = network.now().value(); });
      run.start(done);
      network.run();
      expect_equal(time.rest(buffers[1], done), end);
    }
  }
}

// Stopped at any instant and resumed on a network of its own, it ends at the same time.
TEST_P(RandomUnits, ProgressResumed) {
  std::uniform_real_distribution<double> share(0, 0.999);
  for (const auto& folded : units) {
    TimeAlone time(folded.unit(), folded.plan.links);
    for (Bytes buffer : buffers)
      for (int i = 0; i < 5; ++i) {
        int done = 0;
        if (time.can_stop_between_rounds())
          done = static_cast<int>(random() % std::uint64_t(folded.unit().channels[0].rounds(buffer)));
        double whole = time.rest(buffer, done).value();
        Seconds elapsed(share(random) * whole);
        FluidNetwork network(folded.plan.links);
        double rest = -1;
        FlowRun run(network, folded.unit(), buffer, [&] { rest = network.now().value(); });
        run.resume(time.progress(buffer, done, elapsed));
        network.run();
        EXPECT_NEAR(elapsed.value() + rest, whole, 1e-12 * whole) << done << " " << elapsed.value();
      }
  }
}

}  // namespace
}  // namespace ddpsim
