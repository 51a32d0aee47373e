// Units carried out on a FluidNetwork, against instants by hand.
#include "sim/collective/flow_run.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/base/check.hpp"

#include "tests/collective/plays.hpp"
#include "tests/collective/ports.hpp"

namespace ddpsim {
namespace {

using ::testing::ElementsAre;
using testing::play;
using testing::Ports;

constexpr double MiB = 1048576;

// The only unit of a schedule of one stage, every edge a flow.
FlowUnit unit_of(const CollectiveSchedule& schedule, Coupling ring_coupling = Coupling::rounds) {
  auto unit = unfolded(schedule).stages.at(0).units.at(0);
  for (auto& channel : unit.channels)
    if (channel.chunking.pattern == Pattern::ring) channel.coupling = ring_coupling;
  return unit;
}

class Couplings : public ::testing::TestWithParam<Coupling> {};
INSTANTIATE_TEST_SUITE_P(All, Couplings, ::testing::Values(Coupling::neighbour, Coupling::rounds),
                         [](const auto& coupling) {
                           return coupling.param == Coupling::rounds ? "rounds" : "neighbour";
                         });

// 2 (n-1) (alpha + S/n/beta): for 8 ranks and 25 MiB 14 (5 us + 262.144 us).
TEST_P(Couplings, ARing) {
  for (int n : {2, 3, 8, 50}) {
    Ports ports(n);
    auto unit = unit_of(ports.ring(), GetParam());
    double expected = 2 * (n - 1) * (5e-6 + 25 * MiB / n / 12.5e9);
    EXPECT_NEAR(play(unit, ports.capacities, Bytes(25 * MiB)).value(), expected, 1e-12 * expected) << n;
    if (n == 8) {
      EXPECT_NEAR(expected, 3.740016e-3, 1e-15);
    }
  }
}

// The slow edge has 14 steps to do and never waits: 14 (5 us + 3276800 B / 6 GB/s) = 7.7158667 ms.
TEST_P(Couplings, ARingWithOneSlowEdge) {
  for (std::size_t slow : {0U, 3U, 7U}) {
    Ports ports(8);
    ports.capacities[2 * slow] = BytesPerSecond(6e9);
    auto unit = unit_of(ports.ring(), GetParam());
    EXPECT_NEAR(play(unit, ports.capacities, Bytes(25 * MiB)).value(), 7.715866666666667e-3, 1e-14);
  }
}

// Channels over the same ports in the same direction: half of the bandwidth each, for half of the bytes.
// Latency and transfers of both fall together.
TEST_P(Couplings, TwoChannelsOfOneUnit) {
  Ports ports(8);
  std::vector<int> order = {0, 1, 2, 3, 4, 5, 6, 7};
  auto unit = unit_of(ring(Operation::all_reduce, ports.wiring(), {order, order}), GetParam());
  ASSERT_EQ(unit.channels.size(), 2U);
  EXPECT_NEAR(play(unit, ports.capacities, Bytes(25 * MiB)).value(), 3.740016e-3, 1e-14);
}

// In opposite directions every port also serves both channels: again half of the bandwidth for half of the
// bytes.
TEST_P(Couplings, TwoChannelsInOppositeDirections) {
  Ports ports(3);
  auto unit = unit_of(ring(Operation::all_reduce, ports.wiring(), {{0, 1, 2}, {2, 1, 0}}), GetParam());
  EXPECT_NEAR(play(unit, ports.capacities, Bytes(3e6)).value(), 4 * (5e-6 + 1e6 / 12.5e9), 1e-15);
}

// Three ranks, chunks of 1 B on links of 1 B/s, no latency: a step is one second, four make an all-reduce. A
// flow of 1 B slows edge 0 down until t = 2. From then on 0.5 B more go over edge 2's port. In rounds, edge 2
// waited for edge 0 and is in its second step: both have 1/2 B/s until t = 3, edge 2's other half ends
// at 3.5, and two rounds follow. Coupled to its neighbour only, edge 2 did its second step until t = 2 and
// waits for edge 1 until 3: nothing lost.
TEST(FlowRunOf, AHotSpotThatMoves) {
  Ports ports(3, Seconds(0), BytesPerSecond(1));
  for (auto coupling : {Coupling::neighbour, Coupling::rounds}) {
    auto unit = unit_of(ports.ring(), coupling);
    FluidNetwork network(ports.capacities);
    double end = -1;
    FlowRun run(network, unit, Bytes(3), [&] { end = network.now().value(); });
    network.transfer(std::vector{0}, Bytes(1), [] {});
    network.after(Seconds(2), [&] { network.transfer(std::vector{4}, Bytes(0.5), [] {}); });
    run.start();
    network.run();
    EXPECT_DOUBLE_EQ(end, coupling == Coupling::rounds ? 5.5 : 5);
  }
}

// (k + d - 1) (alpha + S/k/beta): over four edges 4 MiB are 16 chunks (schedule_test.cpp), so 19 rounds of
// 5 us + 262144 / 12.5e9 s; 1 KiB is one chunk, so 4 rounds.
TEST(FlowRunOf, APipeline) {
  Ports ports(5);
  auto unit = unit_of(ports.chain());
  EXPECT_NEAR(play(unit, ports.capacities, Bytes(4 * MiB)).value(), 19 * (5e-6 + 262144 / 12.5e9), 1e-15);
  EXPECT_NEAR(play(unit, ports.capacities, Bytes(1024)).value(), 4 * (5e-6 + 1024 / 12.5e9), 1e-15);
}

// A chain whose third of four edges is slow: it is at work in rounds 2 ... 17, and 3 rounds are without it.
TEST(FlowRunOf, APipelineWithASlowEdge) {
  Ports ports(5);
  ports.capacities[4] = BytesPerSecond(6e9);
  EXPECT_NEAR(play(unit_of(ports.chain()), ports.capacities, Bytes(4 * MiB)).value(),
              3 * (5e-6 + 262144 / 12.5e9) + 16 * (5e-6 + 262144 / 6e9), 1e-15);
}

TEST(FlowRunOf, NoLatencyAndNoBytes) {
  Ports ports(4, Seconds(0));
  EXPECT_NEAR(play(unit_of(ports.ring()), ports.capacities, Bytes(5e6)).value(), 6 * 1.25e6 / 12.5e9, 1e-15);
  Ports slow(4);
  EXPECT_NEAR(play(unit_of(slow.ring()), slow.capacities, Bytes(0)).value(), 6 * 5e-6, 1e-15);
}

// Rings in different orders, a tree and a slow port, so that flows end at many instants.
TEST(FlowRunProgress, ResumeAtAnyInstant) {
  Ports ports(6);
  ports.capacities[3] = BytesPerSecond(5e9);
  ports.latencies[2] = Seconds(40e-6);
  auto unit = unit_of(ring(Operation::all_reduce, ports.wiring(), {{0, 1, 2, 3, 4, 5}, {3, 0, 4, 1, 5, 2}}));
  auto tree = unit_of(double_binary_tree(ports.wiring()));
  unit.channels.push_back(tree.channels[0]);
  Bytes buffer(3e6);
  double whole = play(unit, ports.capacities, buffer).value();
  for (int i = 0; i <= 100; ++i) {
    Seconds stop(whole * i / 101);
    FluidNetwork first(ports.capacities), second(ports.capacities);
    FlowRun stopped(first, unit, buffer, [] { ADD_FAILURE() << "not over yet"; });
    stopped.start();
    first.run(stop);
    auto progress = stopped.progress(first);
    EXPECT_FALSE(progress.is_over());
    double rest = -1;
    FlowRun resumed(second, unit, buffer, [&] { rest = second.now().value(); });
    resumed.resume(progress);
    second.run();
    EXPECT_NEAR(stop.value() + rest, whole, 1e-12 * whole) << i;
  }
}

// 100 us latency, 10 us to send each of four chunks. In the first round at t = 30 us: 70 us latency are left.
// At 105 us half of the first chunk is sent. At 220 us two rounds are done.
TEST(FlowRunProgress, ByHand) {
  Ports ports(4, Seconds(100e-6), BytesPerSecond(1e9));
  auto unit = unit_of(ports.ring());
  FluidNetwork network(ports.capacities);
  FlowRun run(network, unit, Bytes(40000), [] {});
  run.start();
  network.run(Seconds(30e-6));
  auto early = run.progress(network).channels.at(0);
  EXPECT_EQ(early.round, 0);
  ASSERT_EQ(early.flows.size(), 4U);
  EXPECT_NEAR(early.flows[3].latency_left.value(), 70e-6, 1e-18);
  EXPECT_EQ(early.flows[3].bytes_left, Bytes(10000));
  network.run(Seconds(105e-6));
  auto sending = run.progress(network).channels.at(0);
  EXPECT_EQ(sending.flows[3].latency_left, Seconds(0));
  EXPECT_NEAR(sending.flows[3].bytes_left.value(), 5000, 1e-8);
  network.run(Seconds(225e-6));
  EXPECT_EQ(run.progress(network).channels.at(0).round, 2);
  network.run();
  EXPECT_TRUE(run.progress(network).is_over());
  EXPECT_NEAR(network.now().value(), 660e-6, 1e-15);
}

TEST(FlowRunProgress, AFinishedRunIsNotResumed) {
  Ports ports(4);
  auto unit = unit_of(ports.ring());
  FluidNetwork network(ports.capacities);
  FlowRun run(network, unit, Bytes(1), [] {});
  EXPECT_THROW(run.resume({{{6, {}}}}), InternalError);
}

// Both kinds of channels stop after any round and go on from there in the same total time.
TEST(FlowRunRounds, StopAndStart) {
  Ports ports(5);
  ports.latencies[1] = Seconds(40e-6);
  Bytes buffer(1 * MiB);
  for (const auto& unit : {unit_of(ports.ring()), unit_of(ports.chain())}) {
    double whole = play(unit, ports.capacities, buffer).value();
    int rounds = unit.channels[0].rounds(buffer);
    for (int stop = 1; stop < rounds; ++stop) {
      FluidNetwork first(ports.capacities), second(ports.capacities);
      std::vector<int> asked;
      FlowRun stopped(first, unit, buffer, [] { ADD_FAILURE() << "stopped, not over"; });
      stopped.stop_between_rounds = [&](int done) {
        asked.push_back(done);
        return done == stop;
      };
      stopped.start();
      first.run();
      EXPECT_EQ(asked.size(), std::size_t(stop));
      EXPECT_EQ(asked.back(), stop);
      double rest = -1;
      FlowRun going_on(second, unit, buffer, [&] { rest = second.now().value(); });
      going_on.start(stop);
      second.run();
      EXPECT_NEAR(first.now().value() + rest, whole, 1e-12 * whole) << stop;
    }
  }
}

// Nobody is asked after the last round.
TEST(FlowRunRounds, AskedAfterEachButTheLast) {
  Ports ports(3);
  auto unit = unit_of(ports.ring());
  FluidNetwork network(ports.capacities);
  bool over = false;
  FlowRun run(network, unit, Bytes(1), [&] { over = true; });
  std::vector<int> asked;
  run.stop_between_rounds = [&](int done) {
    asked.push_back(done);
    return false;
  };
  run.start();
  network.run();
  EXPECT_THAT(asked, ElementsAre(1, 2, 3));
  EXPECT_TRUE(over);
}

TEST(FlowRunRounds, OnlyOneChannelStartsLater) {
  Ports ports(3);
  auto unit = unit_of(ring(Operation::all_reduce, ports.wiring(), {{0, 1, 2}, {0, 1, 2}}));
  FluidNetwork network(ports.capacities);
  FlowRun run(network, unit, Bytes(1), [] {});
  EXPECT_THROW(run.start(1), InternalError);
}

}  // namespace
}  // namespace ddpsim
