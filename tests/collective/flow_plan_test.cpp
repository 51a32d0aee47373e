// Schedules as channels of flows, and which channels form a unit.
#include "sim/collective/flow_plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/base/check.hpp"

#include "tests/collective/ports.hpp"
#include "tests/collective/wirings.hpp"

namespace ddpsim {
namespace {

using ::testing::ElementsAre;
using testing::Ports;
using testing::some_orders;
using testing::wiring_of;

constexpr double MiB = 1048576;

const FlowChannel& only_channel(const FlowPlan& plan) {
  return plan.stages.at(0).units.at(0).channels.at(0);
}

// A chain 0 -> 1 -> 2 -> 3 and a shortcut 0 -> 3 that goes on to 4 with what the chain has brought.
TEST(PipelineLevels, OneMoreThanTheLatestInput) {
  auto edge = [](int from, int to, std::vector<int> inputs) {
    Edge result{from, to, {}, Seconds(0), BytesPerSecond(1)};
    result.inputs.assign(inputs.begin(), inputs.end());
    return result;
  };
  Channel channel{Pattern::pipeline,
                  {},
                  {edge(3, 4, {4, 1}), edge(2, 3, {2}), edge(1, 2, {3}), edge(0, 1, {}), edge(0, 3, {})},
                  4};
  EXPECT_THAT(pipeline_levels(channel), ElementsAre(3, 2, 1, 0, 0));
  channel.edges[3].inputs = {2};
  EXPECT_THROW(pipeline_levels(channel), InternalError);
}

TEST(FlowPlanOf, ARing) {
  Ports ports(4);
  ports.latencies[2] = Seconds(7e-6);
  auto plan = unfolded(ports.ring());
  ASSERT_EQ(plan.stages.size(), 1U);
  ASSERT_EQ(plan.stages[0].units.size(), 1U);
  EXPECT_THAT(plan.stages[0].units[0].links, ElementsAre(0, 1, 2, 3, 4, 5, 6, 7));
  const auto& ring = only_channel(plan);
  EXPECT_EQ(ring.coupling, Coupling::neighbour);
  EXPECT_EQ(ring.copies, 1);
  ASSERT_EQ(ring.flows.size(), 4U);
  EXPECT_THAT(ring.flows[2].route, ElementsAre(4, 7));
  EXPECT_EQ(ring.flows[2].latency, Seconds(7e-6));
  EXPECT_EQ(ring.flows[2].piece, 1);
  EXPECT_EQ(ring.rounds(Bytes(4000)), 6);
  EXPECT_EQ(ring.chunking.chunk(Bytes(4000)), Bytes(1000));
}

// Both trees of four ranks (tree_test.cpp: Trees.Inputs): leaves up, to the root, down, to the leaves.
TEST(FlowPlanOf, ATree) {
  auto plan = unfolded(double_binary_tree(wiring_of(1, 4)));
  const auto& tree = only_channel(plan);
  EXPECT_EQ(tree.coupling, Coupling::rounds);
  std::vector<int> levels;
  for (const auto& flow : tree.flows) {
    EXPECT_EQ(flow.piece, 0.5);
    levels.push_back(flow.level);
  }
  EXPECT_THAT(levels, ElementsAre(0, 1, 0, 3, 2, 3, 0, 1, 0, 3, 2, 3));
  EXPECT_EQ(tree.last_level, 3);
  EXPECT_EQ(tree.chunking.largest_piece, 2);
  // 4 MiB a tree: 8 slots of 512 KiB are fewer than 2 x 8, so 16 chunks of 256 KiB, twice that for both
  // trees.
  EXPECT_EQ(tree.chunking.steps(Bytes(8 * MiB)), 16);
  EXPECT_EQ(tree.rounds(Bytes(8 * MiB)), 19);
  EXPECT_EQ(tree.chunking.chunk(Bytes(8 * MiB)), Bytes(0.5 * MiB));
}

FlowChannel over(std::vector<std::vector<int>> routes) {
  FlowChannel channel{Coupling::rounds,
                      chunking_of({Pattern::ring, {}, std::vector<Edge>(2)}, Operation::all_reduce)};
  for (auto& route : routes) channel.flows.push_back({std::move(route), Seconds(0)});
  return channel;
}

// 0 and 3 share link 5; 3 and 1 share link 1; 2 and 4 are alone.
TEST(IntoUnits, ChannelsThatShareLinks) {
  auto stage =
      into_units({over({{0}, {5}}), over({{2, 1}}), over({{9}}), over({{5}, {1, 5}}), over({{3, 3}})});
  ASSERT_EQ(stage.units.size(), 3U);
  EXPECT_EQ(stage.units[0].channels.size(), 3U);
  EXPECT_THAT(stage.units[0].links, ElementsAre(0, 1, 2, 5));
  EXPECT_EQ(stage.units[1].channels.size(), 1U);
  EXPECT_THAT(stage.units[1].links, ElementsAre(9));
  EXPECT_THAT(stage.units[2].links, ElementsAre(3));
}

// Rings of a node share nothing with those of another; both rails of two nodes use ports of their own.
TEST(IntoUnits, StagesOfHierarchical) {
  Ports ports(4);
  auto wiring = ports.wiring();
  wiring.nodes = {{0, 1}, {2, 3}};
  auto plan = unfolded(hierarchical(wiring, {{{0, 1}, {1, 0}}, {{0, 1}, {1, 0}}}));
  ASSERT_EQ(plan.stages.size(), 3U);
  ASSERT_EQ(plan.stages[0].units.size(), 2U);
  EXPECT_EQ(plan.stages[0].units[1].channels.size(), 2U);
  EXPECT_THAT(plan.stages[0].units[1].links, ElementsAre(4, 5, 6, 7));
  ASSERT_EQ(plan.stages[1].units.size(), 2U);
  EXPECT_THAT(plan.stages[1].units[0].links, ElementsAre(0, 1, 4, 5));
}

}  // namespace
}  // namespace ddpsim
