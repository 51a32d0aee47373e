// Contention whose times can be worked out by hand, flow by flow and lazily. Two ranks: an all-reduce of 2 MB
// is two steps of 1 MB each way; at 1 GB/s and without latency 1 ms a step.
#include "tests/engine/contention.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ddpsim::testing {
namespace {

const RingLink kGigabyte{0, 1};

Scenario two_ranks(const std::vector<BackgroundFlow>& background) {
  auto cluster = ring_cluster({kGigabyte, kGigabyte});
  auto scenario = base_scenario(make_trace({2}, {1}), Reducer::overlap, {}, 2);
  connect(scenario, cluster, in_rank_order(Algorithm::ring), {{0, 1}}, background);
  return scenario;
}

// When the only collective ends, which starts at 1 ms.
void expect_end(const Scenario& scenario, double end_ms) {
  for (auto fidelity : {Fidelity::exact, Fidelity::folded, Fidelity::lazy})
    EXPECT_NEAR(simulate(scenario, fidelity).last_to_finish().communication.back().end.value() * 1e3, end_ms,
                end_ms * 1e-9)
        << fidelity_name(fidelity);
}

TEST(Background, TakesHalfOfALinkUntilItsSizeIsThrough) {
  // Both get 0.5 GB/s. The background's 0.5 MB are through after 1 ms; the first step then has 0.5 MB left:
  // 0.5 ms more. The second step is alone again.
  expect_end(two_ranks({{{0}, Seconds(1e-3), Bytes(0.5e6), {}}}), 1 + 1.5 + 1);
}

TEST(Background, TakesHalfOfALinkUntilItsEnd) {
  // From the middle of the first step (0.5 MB left) to 1.2 ms later: 0.5 MB at 0.5 GB/s take 1 ms, the second
  // step has 0.2 ms of company (0.1 MB) and 0.9 MB alone.
  expect_end(two_ranks({{{1}, Seconds(1.5e-3), {}, Seconds(2.7e-3)}}), 1.5 + 1 + 0.2 + 0.9);
}

TEST(Background, BeforeTheFirstCollectiveOrAfterTheLastCostsNothing) {
  expect_end(two_ranks({{{0}, Seconds(0), Bytes(1e6), {}}, {{0}, Seconds(4e-3), Bytes(1e6), {}}}), 3);
}

TEST(Background, TwoFlowsOnOneLinkLeaveAThird) {
  expect_end(two_ranks({{{0}, Seconds(0), {}, Seconds(1)}, {{0}, Seconds(0), {}, Seconds(1)}}), 1 + 3 + 3);
}

// The unit that flows are counted in follows from the collectives, however long somebody else's traffic
// lasts.
TEST(Background, AFarEndChangesNothingElsewhere) {
  auto cluster = ring_cluster({{0, 1e-3}, {0, 9e5}});
  auto scenario = base_scenario(make_trace({4e-6}, {1}), Reducer::overlap, {}, 2);
  for (double end : {1.0, 1e3, 1e6, 9e8}) {
    connect(scenario, cluster, in_rank_order(Algorithm::ring), {{0, 1}},
            {{{1}, Seconds(0), {}, Seconds(end)}});
    // Two steps of 2 B at 1 MB/s.
    auto span = simulate(scenario, Fidelity::lazy).last_to_finish().communication.back();
    EXPECT_NEAR((span.end - span.start).value(), 4e-6, 1e-11) << end;
  }
}

TEST(Background, SizeAndEndWhicheverIsFirst) {
  // At 0.5 GB/s, 0.1 MB take 0.2 ms: long before its end; then 0.9 MB alone.
  expect_end(two_ranks({{{0}, Seconds(1e-3), Bytes(0.1e6), Seconds(1)}}), 1 + 0.2 + 0.9 + 1);
}

// GPUs 0 and 1 share a port, as do 2 and 3; group A is 0 and 2, group B is 1 and 3.
Scenario two_groups(Seconds offset) {
  auto cluster = switch_cluster(4, 2, kGigabyte);
  auto scenario = base_scenario(make_trace({2}, {1}), Reducer::overlap, {}, 4);
  scenario.groups = {{2, {{0, 2, 1.0}}, Seconds(0)}, {2, {{1, 2, 1.0}}, offset}};
  connect(scenario, cluster, in_rank_order(Algorithm::ring), {{0, 2}, {1, 3}});
  return scenario;
}

std::vector<double> ends_ms(const Timeline& timeline) {
  std::vector<double> ends;
  for (const auto& ranks : timeline.rank_classes)
    ends.push_back(ranks.communication.back().end.value() * 1e3);
  return ends;
}

TEST(Groups, InStepEachGetsHalf) {
  auto scenario = two_groups(Seconds(0));
  for (double end : ends_ms(simulate(scenario, Fidelity::exact))) EXPECT_NEAR(end, 1 + 4, 1e-9);
  // They do the same at the same times: one stands for both.
  auto folded = simulate(scenario, Fidelity::lazy);
  ASSERT_EQ(folded.rank_classes.size(), 1u);
  EXPECT_EQ(folded.rank_classes[0].ranks, 4);
  EXPECT_EQ(folded.rank_classes[0].group_size, 2);
  EXPECT_NEAR(ends_ms(folded)[0], 1 + 4, 1e-9);
  EXPECT_NEAR(ends_ms(simulate(scenario, Fidelity::closed_form))[0], 1 + 4, 1e-9);
}

TEST(Groups, HalfAStepApart) {
  // A is alone for 0.5 ms (0.5 MB), then both get half: A's first step ends 1 ms later, at 2.5 ms; B has
  // 0.5 MB left. Likewise every step of B ends when A is half through its own and the other way round:
  // A's steps end at 2.5 and 4.5 ms; B's at 3.5 ms and, alone for the second half, 0.5 ms after 4.5 ms.
  auto scenario = two_groups(Seconds(0.5e-3));
  for (auto fidelity : {Fidelity::exact, Fidelity::folded, Fidelity::lazy}) {
    auto ends = ends_ms(simulate(scenario, fidelity));
    ASSERT_EQ(ends.size(), 2u);
    EXPECT_NEAR(ends[0], 4.5, 1e-9) << fidelity_name(fidelity);
    EXPECT_NEAR(ends[1], 5, 1e-9) << fidelity_name(fidelity);
  }
}

TEST(Groups, FarApartTheyAreAlone) {
  for (auto fidelity : {Fidelity::exact, Fidelity::lazy})
    EXPECT_THAT(ends_ms(simulate(two_groups(Seconds(10e-3)), fidelity)),
                ::testing::ElementsAre(::testing::DoubleNear(3, 1e-9), ::testing::DoubleNear(13, 1e-9)))
        << fidelity_name(fidelity);
}

TEST(Groups, TermsOfEachAreItsOwn) {
  auto timeline = simulate(two_groups(Seconds(10e-3)), Fidelity::lazy);
  // 1 ms of backward, 2 ms of waiting; the offset is no part of the iteration.
  for (const auto& ranks : timeline.rank_classes)
    EXPECT_NEAR((ranks.compute.back().end - ranks.compute.front().start).value(), 3e-3, 1e-12);
  EXPECT_NEAR(timeline.rank_classes[1].backward_start.value(), 10e-3, 1e-15);
}

// The group that is last to start need not be the one that takes longest: its terms are reported.
TEST(Groups, TheLongestIterationIsReported) {
  auto scenario = two_groups(Seconds(10e-3));
  scenario.groups[0].rank_classes = {{0, 1, 1.0}, {2, 1, 5.0}};
  connect(scenario, scenario.communication->cluster, in_rank_order(Algorithm::ring), {{0, 2}, {1, 3}});
  auto timeline = simulate(scenario, Fidelity::lazy);
  // 5 ms of the slow rank's backward and 2 ms of communication, against 1 ms and 2 ms.
  EXPECT_EQ(timeline.last_to_finish().rank, 2);
  EXPECT_NEAR(timeline.last_to_finish().duration().value(), 7e-3, 1e-12);
}

// Groups in any order: classes come by rank.
TEST(Groups, ListedOutOfOrder) {
  auto scenario = two_groups(Seconds(0));
  std::swap(scenario.groups[0], scenario.groups[1]);
  connect(scenario, scenario.communication->cluster, in_rank_order(Algorithm::ring), {{1, 3}, {0, 2}});
  auto folded = simulate(scenario, Fidelity::lazy);
  ASSERT_EQ(folded.rank_classes.size(), 1u);
  EXPECT_EQ(folded.rank_classes[0].rank, 0);
  auto exact = simulate(scenario, Fidelity::exact);
  ASSERT_EQ(exact.rank_classes.size(), 2u);
  EXPECT_EQ(exact.rank_classes[0].rank, 0);
  EXPECT_EQ(exact.rank_classes[1].rank, 1);
}

// A group of stragglers launches late; the other one does not wait for it.
TEST(Groups, AStragglerSlowsItsOwnGroupOnly) {
  auto scenario = two_groups(Seconds(0));
  scenario.groups[1].rank_classes = {{1, 1, 1.0}, {3, 1, 21.0}};
  connect(scenario, scenario.communication->cluster, in_rank_order(Algorithm::ring), {{0, 2}, {1, 3}});
  for (auto fidelity : {Fidelity::exact, Fidelity::lazy}) {
    auto ends = ends_ms(simulate(scenario, fidelity));
    // Both start together. The slow rank's gradient is ready after 21 ms, the fast group's after 1 ms.
    EXPECT_NEAR(ends.front(), 3, 1e-9) << fidelity_name(fidelity);
    EXPECT_NEAR(ends.back(), 23, 1e-9) << fidelity_name(fidelity);
  }
}

}  // namespace
}  // namespace ddpsim::testing
