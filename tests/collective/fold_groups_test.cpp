// Groups that fold into one another, and what other traffic does to a fold.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/collective/fold.hpp"

#include "tests/collective/ports.hpp"

namespace ddpsim {
namespace {

using ::testing::ElementsAre;
using testing::Ports;

constexpr BytesPerSecond fast(12.5e9), half(6.25e9);

std::vector<std::vector<std::size_t>> members(const TrafficPlan& plan) {
  std::vector<std::vector<std::size_t>> members;
  for (const auto& group : plan.groups) members.push_back(group.members);
  return members;
}

const FlowChannel& only_channel(const TrafficPlan::Group& group) {
  return group.plan.stages.at(0).units.at(0).channels.at(0);
}

// Rings over ranks 0 ... 3 and 4 ... 7.
class TwoGroups : public ::testing::Test {
 protected:
  Ports ports{8};
  CollectiveSchedule first, second;
  // Built late: the ports may change first.
  Traffic traffic(int label_of_second) {
    first = ports.ring({0, 1, 2, 3});
    second = ports.ring({4, 5, 6, 7});
    auto result = ports.traffic({&first, &second});
    result.groups[1].label = label_of_second;
    return result;
  }
};

TEST_F(TwoGroups, OfOneLabelMirrorEachOther) {
  auto plan = fold(traffic(0));
  EXPECT_THAT(members(plan), ElementsAre(ElementsAre(0, 1)));
  EXPECT_THAT(plan.links, ElementsAre(fast));
  EXPECT_EQ(only_channel(plan.groups[0]).copies, 1);
  EXPECT_FALSE(plan.is_contended());
}

// They may launch at other times, so that nothing of one says where the other is.
TEST_F(TwoGroups, OfDifferentLabelsDoNot) {
  auto plan = fold(traffic(1));
  EXPECT_THAT(members(plan), ElementsAre(ElementsAre(0), ElementsAre(1)));
  EXPECT_THAT(plan.links, ElementsAre(fast, fast));
  EXPECT_FALSE(plan.is_contended());
}

TEST_F(TwoGroups, OfWhichOneIsSlower) {
  ports.latencies[6] = Seconds(9e-6);
  auto plan = fold(traffic(0));
  EXPECT_THAT(members(plan), ElementsAre(ElementsAre(0), ElementsAre(1)));
  EXPECT_EQ(only_channel(plan.groups[0]).flows.size(), 1U);
  EXPECT_EQ(only_channel(plan.groups[1]).flows.size(), 2U);
}

// The same four ports: groups of one label are always at the same point, so that each has half of the
// bandwidth, and nobody else disturbs them. Groups of different labels disturb each other.
TEST_F(TwoGroups, OnTheSameLinks) {
  auto shared = traffic(0);
  shared.groups[1].schedule = &first;
  auto plan = fold(shared);
  EXPECT_THAT(members(plan), ElementsAre(ElementsAre(0, 1)));
  EXPECT_THAT(plan.links, ElementsAre(half));
  EXPECT_FALSE(plan.is_contended());
  EXPECT_TRUE(unfold(shared).is_contended());

  shared.groups[1].label = 1;
  plan = fold(shared);
  EXPECT_THAT(members(plan), ElementsAre(ElementsAre(0), ElementsAre(1)));
  EXPECT_THAT(plan.links, ElementsAre(fast));
  EXPECT_THAT(only_channel(plan.groups[0]).flows.at(0).route, ElementsAre(0));
  EXPECT_THAT(only_channel(plan.groups[1]).flows.at(0).route, ElementsAre(0));
  EXPECT_TRUE(plan.is_contended());
}

// Both also pass link 16, which takes all of both groups' ports: no contention. With less it stays, and each
// of four edges a group counts as one of eight.
TEST_F(TwoGroups, ThroughOneLink) {
  auto through = traffic(1);
  for (auto* schedule : {&first, &second})
    for (auto& edge : schedule->stages[0].channels[0].edges) edge.route.push_back(16);
  ports.capacities.emplace_back(8 * 12.5e9);
  EXPECT_FALSE(fold(through).is_contended());
  EXPECT_TRUE(unfold(through).is_contended());

  ports.capacities.back() = BytesPerSecond(80e9);
  auto plan = fold(through);
  EXPECT_TRUE(plan.is_contended());
  EXPECT_THAT(plan.links, ::testing::UnorderedElementsAre(fast, BytesPerSecond(20e9), fast));
}

// Of the two rings, a background flow disturbs the first only; in that it singles out the edge 1 -> 2, with
// which it shares rank 1's link out.
TEST_F(TwoGroups, OfWhichBackgroundTrafficDisturbsOne) {
  auto disturbed = traffic(0);
  disturbed.background = {{2 * 1}};
  auto plan = fold(disturbed);
  EXPECT_THAT(members(plan), ElementsAre(ElementsAre(0), ElementsAre(1)));
  const auto& flows = only_channel(plan.groups[0]).flows;
  ASSERT_EQ(flows.size(), 2U);
  ASSERT_EQ(plan.background.size(), 1U);
  EXPECT_EQ(flows[1].route, plan.background[0]);
  EXPECT_NE(flows[0].route, plan.background[0]);
  EXPECT_EQ(only_channel(plan.groups[1]).flows.size(), 1U);
  EXPECT_THAT(plan.links, ElementsAre(fast, fast, fast));
  EXPECT_TRUE(plan.is_contended());
}

// Two background flows on ports that are alike but for which flow is on them: all three edges are different.
TEST_F(TwoGroups, EachBackgroundFlowIsItsOwn) {
  auto disturbed = traffic(1);
  disturbed.background = {{2 * 1}, {2 * 2}};
  auto plan = fold(disturbed);
  EXPECT_EQ(only_channel(plan.groups[0]).flows.size(), 3U);
  EXPECT_EQ(plan.background.size(), 2U);
  EXPECT_NE(plan.background[0], plan.background[1]);
}

// A background flow of rank 1 to rank 6 meets both groups. It is on link 99 alone, which does not matter.
TEST_F(TwoGroups, ABackgroundFlowBetweenThem) {
  ports.capacities.resize(100, BytesPerSecond(1e12));
  auto disturbed = traffic(0);
  disturbed.background = {{2 * 1, 99, 2 * 6 + 1}};
  auto plan = fold(disturbed);
  EXPECT_TRUE(plan.is_contended());
  // Out of 1 and into 6 have one edge each, and those are alike: so are both groups.
  EXPECT_THAT(members(plan), ElementsAre(ElementsAre(0, 1)));
  EXPECT_THAT(plan.background, ElementsAre(ElementsAre(1)));
  EXPECT_THAT(plan.links, ElementsAre(fast, fast));
}

// On a link of its own a background flow disturbs nobody.
TEST_F(TwoGroups, BackgroundTrafficElsewhere) {
  ports.capacities.resize(100, half);
  auto undisturbed = traffic(0);
  undisturbed.background = {{99, 98}};
  auto plan = fold(undisturbed);
  EXPECT_FALSE(plan.is_contended());
  EXPECT_THAT(plan.background, ElementsAre(ElementsAre(1)));
  EXPECT_THAT(plan.links, ElementsAre(fast, half));
}

// A flow that lists a link twice counts there as two.
TEST_F(TwoGroups, ABackgroundFlowTwiceOverALink) {
  auto disturbed = traffic(0);
  disturbed.background = {{2 * 1, 2 * 1}};
  auto plan = fold(disturbed);
  ASSERT_EQ(plan.background[0].size(), 2U);
  EXPECT_EQ(plan.background[0][0], plan.background[0][1]);
}

// A ring of ranks 0 ... 3, then one of 4 ... 7. Either puts 4 x 12.5 GB/s at most on a link of 60 GB/s that
// both pass; it is never full, as one group's stages never run at once. Those of two groups may.
TEST(FoldStages, NeverRunAtOnce) {
  Ports ports(8);
  ports.capacities.emplace_back(60e9);
  auto schedule = ports.ring({0, 1, 2, 3});
  schedule.stages.push_back(ports.ring({4, 5, 6, 7}).stages[0]);
  for (auto& stage : schedule.stages)
    for (auto& edge : stage.channels[0].edges) edge.route.push_back(16);
  auto traffic = ports.traffic({&schedule});
  EXPECT_THAT(fold(traffic).links, ElementsAre(fast, fast));

  auto first = schedule, second = schedule;
  first.stages.pop_back();
  second.stages.erase(second.stages.begin());
  traffic = ports.traffic({&first, &second});
  traffic.groups[1].label = 1;
  EXPECT_EQ(fold(traffic).links.size(), 3U);
  EXPECT_TRUE(fold(traffic).is_contended());
}

}  // namespace
}  // namespace ddpsim
