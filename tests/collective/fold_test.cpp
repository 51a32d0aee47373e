// What folds in one group, and which links stay. By hand; that folding changes no time:
// fold_exactness_test.cpp.
#include "sim/collective/fold.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/collective/ports.hpp"
#include "tests/collective/two_levels.hpp"

namespace ddpsim {
namespace {

using ::testing::ElementsAre;
using testing::hierarchical_on_two_levels;
using testing::Ports;
using testing::two_level_capacity;

constexpr BytesPerSecond fast(12.5e9), half(6.25e9);

const FlowUnit& only_unit(const TrafficPlan& plan, std::size_t stage = 0) {
  EXPECT_EQ(plan.groups.size(), 1U);
  EXPECT_EQ(plan.groups.at(0).plan.stages.at(stage).units.size(), 1U);
  return plan.groups.at(0).plan.stages.at(stage).units.at(0);
}

const FlowChannel& only_channel(const TrafficPlan& plan, std::size_t stage = 0) {
  EXPECT_EQ(only_unit(plan, stage).channels.size(), 1U);
  return only_unit(plan, stage).channels.at(0);
}

TrafficPlan folded(const Ports& ports, const CollectiveSchedule& schedule) {
  return fold(ports.traffic({&schedule}));
}

std::vector<std::vector<int>> routes(const FlowChannel& channel) {
  std::vector<std::vector<int>> routes;
  for (const auto& flow : channel.flows) routes.push_back(flow.route);
  return routes;
}

// All edges are alike, and so are all links out and in: one of them stands for both.
TEST(Fold, ARing) {
  for (int n : {2, 3, 8, 100}) {
    Ports ports(n);
    auto plan = folded(ports, ports.ring());
    EXPECT_THAT(plan.links, ElementsAre(fast));
    EXPECT_THAT(plan.groups.at(0).members, ElementsAre(0));
    const auto& channel = only_channel(plan);
    EXPECT_THAT(routes(channel), ElementsAre(ElementsAre(0)));
    EXPECT_EQ(channel.flows[0].latency, Seconds(5e-6));
    EXPECT_EQ(channel.chunking.ring_size, n);
    EXPECT_EQ(channel.coupling, Coupling::rounds);
    EXPECT_EQ(channel.copies, 1);
    EXPECT_FALSE(plan.is_contended());
  }
}

// One flow for the slow edge, one for the seven others. Of the slow edge's link out (6 GB/s) and link in
// (12.5 GB/s) only the first can be the bottleneck.
TEST(Fold, ARingWithOneSlowLink) {
  Ports ports(8);
  ports.capacities[2 * 3] = BytesPerSecond(6e9);
  auto plan = folded(ports, ports.ring());
  EXPECT_THAT(plan.links, ElementsAre(fast, BytesPerSecond(6e9)));
  EXPECT_THAT(routes(only_channel(plan)), ElementsAre(ElementsAre(0), ElementsAre(1)));
}

TEST(Fold, ARingWithOneLargeLatency) {
  Ports ports(8);
  ports.latencies[0] = Seconds(50e-6);
  auto plan = folded(ports, ports.ring());
  EXPECT_THAT(plan.links, ElementsAre(fast, fast));
  const auto& flows = only_channel(plan).flows;
  ASSERT_EQ(flows.size(), 2U);
  EXPECT_EQ(flows[0].latency, Seconds(50e-6));
  EXPECT_EQ(flows[1].latency, Seconds(5e-6));
}

// Ranks 2 and 6 have a larger latency, 5, 6 and 7 half of the bandwidth out: 0, 1, 3 and 4 are alike, and 5
// and 7.
TEST(Fold, LatencyAndBandwidthTellApart) {
  Ports ports(8);
  ports.latencies[2] = ports.latencies[6] = Seconds(50e-6);
  for (std::size_t rank : {5U, 6U, 7U}) ports.capacities[2 * rank] = half;
  auto plan = folded(ports, ports.ring());
  EXPECT_THAT(plan.links, ElementsAre(fast, fast, half, half));
  EXPECT_EQ(only_channel(plan).flows.size(), 4U);
}

// Two flows like the one on each link; the same as one on half of the capacity.
TEST(Fold, TwoChannelsOverTheSameLinks) {
  Ports ports(4);
  for (const std::vector<int>& second : {std::vector{0, 1, 2, 3}, {3, 2, 1, 0}, {0, 2, 1, 3}}) {
    auto plan = folded(ports, ring(Operation::all_reduce, ports.wiring(), {{0, 1, 2, 3}, second}));
    EXPECT_THAT(plan.links, ElementsAre(half));
    const auto& channel = only_channel(plan);
    EXPECT_THAT(routes(channel), ElementsAre(ElementsAre(0)));
    EXPECT_EQ(channel.copies, 2);
    EXPECT_EQ(channel.chunking.part.of, 2);
  }
}

// Two channels as before and one on a part of its own size: the flow of the former is listed twice, that of
// the latter once.
TEST(Fold, ChannelsThatAreNotAlike) {
  Ports ports(4);
  auto schedule = ring(Operation::all_reduce, ports.wiring(), {{0, 1, 2, 3}, {0, 1, 2, 3}, {0, 1, 2, 3}});
  auto& channels = schedule.stages[0].channels;
  channels[0].part = {0, 4};
  channels[1].part = {1, 4};
  channels[2].part = {1, 2};
  auto plan = folded(ports, schedule);
  EXPECT_THAT(plan.links, ElementsAre(fast));
  const auto& unit = only_unit(plan);
  ASSERT_EQ(unit.channels.size(), 2U);
  EXPECT_EQ(unit.channels[0].copies, 2);
  EXPECT_THAT(routes(unit.channels[0]), ElementsAre(ElementsAre(0, 0)));
  EXPECT_EQ(unit.channels[1].copies, 1);
  EXPECT_THAT(routes(unit.channels[1]), ElementsAre(ElementsAre(0)));
}

// Everything also passes link 16 in the middle.
CollectiveSchedule through_the_middle(const Ports& ports) {
  auto schedule = ports.ring();
  for (auto& edge : schedule.stages[0].channels[0].edges) edge.route.insert(edge.route.begin() + 1, 16);
  return schedule;
}

// Eight ports cannot fill a link of 100 GB/s.
TEST(Fold, AFatUplinkIsLeftOut) {
  Ports ports(8);
  ports.capacities.emplace_back(100e9);
  auto plan = folded(ports, through_the_middle(ports));
  EXPECT_THAT(plan.links, ElementsAre(fast));
  EXPECT_THAT(routes(only_channel(plan)), ElementsAre(ElementsAre(0)));
}

// A middle of 20 GB/s leaves each of its eight flows 2.5 GB/s, so the ports do not matter.
TEST(Fold, ATightUplinkIsAllThatCounts) {
  Ports ports(8);
  ports.capacities.emplace_back(20e9);
  auto plan = folded(ports, through_the_middle(ports));
  EXPECT_THAT(plan.links, ElementsAre(BytesPerSecond(2.5e9)));
  EXPECT_THAT(routes(only_channel(plan)), ElementsAre(ElementsAre(0)));
}

// Ports of 12.5 GB/s in a middle of 8 x 12.5 GB/s, none of which is looser than the others: one of them
// stays.
TEST(Fold, OfAChainOfEqualLinksOneStays) {
  Ports ports(8);
  ports.capacities.emplace_back(8 * 12.5e9);
  auto schedule = through_the_middle(ports);
  for (int e = 0; e < 8; ++e) {
    auto& route = schedule.stages[0].channels[0].edges[std::size_t(e)].route;
    route.push_back(17 + e / 4);  // and two of 4 x 12.5 GB/s
  }
  ports.capacities.resize(19, BytesPerSecond(4 * 12.5e9));
  auto plan = folded(ports, schedule);
  EXPECT_THAT(plan.links, ElementsAre(fast));
  EXPECT_THAT(routes(only_channel(plan)), ElementsAre(ElementsAre(0)));
}

// Two ranks: 0 is one tree's root, 1 the other's. Up, then down; on each port one flow of either round.
TEST(Fold, ATree) {
  Ports ports(2);
  auto plan = folded(ports, double_binary_tree(ports.wiring()));
  EXPECT_THAT(plan.links, ElementsAre(fast));
  const auto& channel = only_channel(plan);
  EXPECT_THAT(routes(channel), ElementsAre(ElementsAre(0), ElementsAre(0)));
  EXPECT_EQ(channel.flows[0].level, 0);
  EXPECT_EQ(channel.flows[1].level, 1);
  EXPECT_EQ(channel.flows[0].piece, 0.5);
  EXPECT_EQ(channel.last_level, 1);
}

// Three exchanges one way and back; in each, four pairs that are alike and share nothing.
TEST(Fold, HalvingDoubling) {
  Ports ports(8);
  auto plan = folded(ports, halving_doubling(ports.wiring()));
  EXPECT_THAT(plan.links, ElementsAre(fast));
  ASSERT_EQ(plan.groups[0].plan.stages.size(), 6U);
  for (std::size_t stage = 0; stage < 6; ++stage) {
    EXPECT_EQ(only_channel(plan, stage).copies, 4);
    EXPECT_THAT(routes(only_channel(plan, stage)), ElementsAre(ElementsAre(0)));
  }
}

TEST(Fold, HierarchicalOnIdenticalNodes) {
  auto schedule = hierarchical_on_two_levels(64 * 8);
  auto plan = fold({{{&schedule, 0}}, {}, two_level_capacity});
  EXPECT_THAT(plan.links, ElementsAre(BytesPerSecond(200e9), fast));
  ASSERT_EQ(plan.groups[0].plan.stages.size(), 3U);
  for (std::size_t stage : {0U, 2U}) {
    EXPECT_EQ(only_channel(plan, stage).copies, 64);
    EXPECT_EQ(only_channel(plan, stage).chunking.ring_size, 8);
    EXPECT_THAT(only_unit(plan, stage).links, ElementsAre(0));
  }
  EXPECT_EQ(only_channel(plan, 1).copies, 8);
  EXPECT_EQ(only_channel(plan, 1).chunking.ring_size, 64);
  EXPECT_EQ(only_channel(plan, 1).chunking.part.of, 8);
  EXPECT_THAT(only_unit(plan, 1).links, ElementsAre(1));
}

// Folding is linear in the edges. The slow edge is one more flow, not the beginning of many.
TEST(Fold, ARingOf65536) {
  Ports ports(65536);
  EXPECT_EQ(only_channel(folded(ports, ports.ring())).flows.size(), 1U);
  ports.capacities[2 * 40000] = half;
  EXPECT_EQ(only_channel(folded(ports, ports.ring())).flows.size(), 2U);
}

// Links are numbered as they appear: 0 -> 1 is out of 0 and into 1.
TEST(Unfold, KeepsEverything) {
  Ports ports(3);
  ports.capacities[5] = half;  // into rank 2
  auto schedule = ring(Operation::all_reduce, ports.wiring(), {{0, 1, 2}, {0, 1, 2}});
  auto traffic = ports.traffic({&schedule, &schedule});
  traffic.background = {{5, 0}};
  auto plan = unfold(traffic);
  EXPECT_THAT(plan.links, ElementsAre(fast, fast, fast, half, fast, fast));
  ASSERT_EQ(plan.groups.size(), 2U);
  EXPECT_THAT(plan.groups[1].members, ElementsAre(1));
  const auto& unit = plan.groups[1].plan.stages[0].units.at(0);
  ASSERT_EQ(unit.channels.size(), 2U);
  EXPECT_THAT(routes(unit.channels[1]), ElementsAre(ElementsAre(0, 1), ElementsAre(2, 3), ElementsAre(4, 5)));
  EXPECT_EQ(unit.channels[1].coupling, Coupling::neighbour);
  EXPECT_THAT(plan.background, ElementsAre(ElementsAre(3, 0)));
}

}  // namespace
}  // namespace ddpsim
