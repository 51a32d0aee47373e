// What an iteration is made of: strategies, stragglers, accumulation, the used-parameter bitmap.
#include <gtest/gtest.h>

#include "sim/engine/simulator.hpp"

#include "tests/engine/scenarios.hpp"
#include "tests/support/errors.hpp"

namespace ddpsim::testing {
namespace {

// Two ranks, no latency, 1 GB/s: an all-reduce of S bytes takes 2 (2-1) S/2 / 1 GB/s = S ms per MB.
std::vector<RingLink> pair() {
  return {{0, 1}, {0, 1}};
}

// Three gradients of 1, 2 and 4 MB, ready at 10, 12 and 20 ms.
LayerTrace three() {
  auto trace = make_trace({1, 2, 4}, {10, 12, 20});
  trace.forward = Seconds(5e-3);
  trace.optimizer = Seconds(3e-3);
  return trace;
}

std::vector<std::pair<double, double>> spans_ms(const Timeline& timeline) {
  std::vector<std::pair<double, double>> spans;
  for (const auto& span : timeline.last_to_finish().communication)
    spans.emplace_back(std::round(span.start.value() * 1e9) / 1e6, std::round(span.end.value() * 1e9) / 1e6);
  return spans;
}

double length_ms(const RankTimeline& ranks, Activity activity) {
  double total = 0;
  for (const auto& span : ranks.compute)
    if (span.activity == activity) total += (span.end - span.start).value() * 1e3;
  return total;
}

using Spans = std::vector<std::pair<double, double>>;

TEST(Iteration, OverlapStartsEachGradientWhenReadyAndTheLaneIsFree) {
  auto timeline = simulate(make_scenario(three(), pair(), Reducer::overlap, {}), Fidelity::fluid);
  // 1 MB: 10..11; 2 MB: 12..14; 4 MB: 20..24.
  EXPECT_EQ(spans_ms(timeline), (Spans{{10, 11}, {12, 14}, {20, 24}}));
  EXPECT_NEAR(length_ms(timeline.last_to_finish(), Activity::wait), 4, 1e-9);
}

TEST(Iteration, NaiveReducesInRegistrationOrderAfterBackward) {
  auto timeline = simulate(make_scenario(three(), pair(), Reducer::naive, {}), Fidelity::fluid);
  // Registration is the reverse of arrival: 4, 2, 1 MB from 20 ms on.
  EXPECT_EQ(spans_ms(timeline), (Spans{{20, 24}, {24, 26}, {26, 27}}));
}

TEST(Iteration, FlatReducesOnceAfterBackward) {
  auto timeline = simulate(make_scenario(three(), pair(), Reducer::flat, {}), Fidelity::fluid);
  EXPECT_EQ(spans_ms(timeline), (Spans{{20, 27}}));
}

TEST(Iteration, BucketsWaitForTheirLastGradientAndForEachOther) {
  // Cap 3 MB: {1, 2} closes at 3 MB and is ready at 12 ms; {4} at 20 ms.
  auto timeline = simulate(make_scenario(three(), pair(), Reducer::ddp, cap(Bytes(3e6))), Fidelity::fluid);
  EXPECT_EQ(spans_ms(timeline), (Spans{{12, 15}, {20, 24}}));
}

TEST(Iteration, FirstIterationHasOneBucketAndNoOverlap) {
  DdpOptions options = cap(Bytes(3e6));
  options.iteration = DdpIteration::first;
  EXPECT_EQ(spans_ms(simulate(make_scenario(three(), pair(), Reducer::ddp, options), Fidelity::fluid)),
            (Spans{{20, 27}}));
}

TEST(Iteration, StragglerDelaysEveryCollectiveAndReportsItself) {
  auto scenario = make_scenario(three(), pair(), Reducer::overlap, {});
  scenario.groups[0].rank_classes = {{0, 1, 1.0}, {1, 1, 2.0}};
  auto timeline = simulate(scenario, Fidelity::folded);
  const auto& last = timeline.last_to_finish();
  EXPECT_EQ(last.rank, 1);
  // The straggler's gradients come at 20, 24 and 40 ms of its own backward pass.
  EXPECT_EQ(spans_ms(timeline), (Spans{{20, 21}, {24, 26}, {40, 44}}));
  EXPECT_NEAR(length_ms(last, Activity::forward), 10, 1e-9);
  EXPECT_NEAR(length_ms(last, Activity::backward), 40, 1e-9);
  EXPECT_NEAR(length_ms(last, Activity::optimizer), 6, 1e-9);
  // The fast rank began its backward pass 5 ms earlier, ended it at 15 and waits until 44 ms.
  const auto& fast = timeline.rank_classes[0];
  EXPECT_NEAR(fast.backward_start.value(), -5e-3, 1e-12);
  EXPECT_NEAR(length_ms(fast, Activity::wait), 29, 1e-9);
}

TEST(Iteration, AccumulationReducesOnlyInTheLastBackward) {
  DdpOptions options;
  options.accumulation_steps = 3;
  auto timeline = simulate(make_scenario(three(), pair(), Reducer::overlap, options), Fidelity::fluid);
  const auto& ranks = timeline.last_to_finish();
  EXPECT_EQ(spans_ms(timeline),
            (Spans{{10, 11}, {12, 14}, {20, 24}}));  // counted from the last backward pass
  EXPECT_NEAR(length_ms(ranks, Activity::forward), 15, 1e-9);
  EXPECT_NEAR(length_ms(ranks, Activity::backward), 60, 1e-9);
  EXPECT_NEAR(ranks.compute.front().start.value(), -(3 * 5 + 2 * 20) * 1e-3, 1e-12);
}

TEST(Iteration, UsedParameterBitmapFollowsTheLastBucket) {
  DdpOptions options = cap(Bytes(3e6));
  options.find_unused_parameters = true;
  auto scenario = make_scenario(three(), pair(), Reducer::ddp, options);
  EXPECT_EQ(scenario.plan.used_parameter_bitmap, Bytes(12));  // three parameters, an int32 each
  auto timeline = simulate(scenario, Fidelity::fluid);
  const auto& spans = timeline.last_to_finish().communication;
  EXPECT_EQ(spans.back().activity, Activity::used_parameter_bitmap);
  EXPECT_EQ(spans.back().start, spans[spans.size() - 2].end);
}

TEST(Iteration, ResultsDoNotDependOnTheNumberOfWorkers) {
  std::vector<Scenario> scenarios;
  for (int i = 1; i <= 7; ++i)
    scenarios.push_back(
        make_scenario(three(), std::vector<RingLink>(i + 1), Reducer::ddp, cap(Bytes(i * 1e6))));
  auto alone = simulate(scenarios, 1), together = simulate(scenarios, 3);
  ASSERT_EQ(alone.size(), 7);
  for (std::size_t i = 0; i < alone.size(); ++i) {
    const auto &a = alone[i].last_to_finish().communication, &b = together[i].last_to_finish().communication;
    ASSERT_EQ(a.size(), b.size());
    for (std::size_t k = 0; k < a.size(); ++k) EXPECT_EQ(a[k].end, b[k].end);  // to the bit
  }
}

}  // namespace
}  // namespace ddpsim::testing
