// Measured all-reduces, alone and behind another one, in the closed form.
#include <gtest/gtest.h>

#include "tests/engine/scenarios.hpp"

namespace ddpsim::testing {
namespace {

using Spans = std::vector<std::pair<double, double>>;

MeasuredCost cost_of(const std::vector<double>& seconds) {
  std::vector<MeasuredPoint> points;
  for (std::size_t i = 0; i < seconds.size(); ++i) {
    double bytes = 400.0 * static_cast<double>(i + 1);
    points.push_back({Bytes(bytes), Seconds(seconds[i]), Seconds(seconds[i])});
  }
  return MeasuredCost(points);
}

// 400, 800 and 1200 B take 4, 5 and 6 s alone, 1, 2 and 3 s behind another one.
MeasuredTable both_costs() {
  return {{{Operation::all_reduce, {cost_of({4, 5, 6}), cost_of({1, 2, 3})}}}, 8};
}

// Of gradients of 400, 800 and 1200 B that are ready at these seconds.
Spans spans_of(const std::vector<double>& ready, Reducer reducer, const MeasuredTable& table,
               double slowdown = 1) {
  std::vector<double> milliseconds;
  for (double seconds : ready) milliseconds.push_back(1000 * seconds);
  auto scenario = base_scenario(make_trace({4e-4, 8e-4, 12e-4}, milliseconds), reducer, {}, 8);
  if (slowdown != 1) scenario.groups = {{8, {{0, 7, 1.0}, {7, 1, slowdown}}, Seconds(0)}};
  scenario.measured_table = std::make_shared<const MeasuredTable>(table);
  auto timeline = simulate(scenario, Fidelity::closed_form);
  Spans spans;
  for (const auto& span : timeline.last_to_finish().communication)
    spans.emplace_back(std::round(span.start.value() * 1e9) / 1e9, std::round(span.end.value() * 1e9) / 1e9);
  return spans;
}

// From 1 s on 4 s; the second is ready at 2 s and waits until 5 s, then takes the 2 s of a queued one; the
// third is ready at 10 s, when the lane has been free for 3 s.
TEST(QueuedCosts, TheSecondIsQueuedTheThirdIsNot) {
  EXPECT_EQ(spans_of({1, 2, 10}, Reducer::overlap, both_costs()), (Spans{{1, 5}, {5, 7}, {10, 16}}));
}

TEST(QueuedCosts, WithoutThemAllAreAlone) {
  EXPECT_EQ(spans_of({1, 2, 10}, Reducer::overlap, {{{Operation::all_reduce, {cost_of({4, 5, 6}), {}}}}, 8}),
            (Spans{{1, 5}, {5, 10}, {10, 16}}));
}

// Ready just when the lane becomes free: nothing to wait for.
TEST(QueuedCosts, ReadyWhenTheLaneIsFree) {
  EXPECT_EQ(spans_of({1, 5, 11}, Reducer::overlap, both_costs()), (Spans{{1, 5}, {5, 10}, {11, 17}}));
  EXPECT_EQ(spans_of({1, 5, 10}, Reducer::overlap, both_costs()), (Spans{{1, 5}, {5, 10}, {10, 16}}));
}

// All are launched at 10 s, in the order of registration: 1200, 800 and 400 B.
TEST(QueuedCosts, AfterTheBackwardPassAllButTheFirst) {
  EXPECT_EQ(spans_of({1, 2, 10}, Reducer::naive, both_costs()), (Spans{{10, 16}, {16, 18}, {18, 19}}));
}

// Ready at 3, 6 and 30 s on the straggler, for which the others wait: 3 + 4 s, then 2 s, then alone.
TEST(QueuedCosts, BehindAStraggler) {
  EXPECT_EQ(spans_of({1, 2, 10}, Reducer::overlap, both_costs(), 3), (Spans{{3, 7}, {7, 9}, {30, 36}}));
}

}  // namespace
}  // namespace ddpsim::testing
