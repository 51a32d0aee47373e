// Many iterations of ranks that are not always as fast.
#include "sim/study/prediction.hpp"

#include <algorithm>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/random_coupled_case.hpp"

namespace ddpsim::testing {
namespace {

constexpr unsigned kCases = 200;

std::shared_ptr<const SampledRanks> drawn_for(std::vector<std::vector<SlowestRank>> slowest,
                                              ReportedIteration report = ReportedIteration::median) {
  SampledRanks sampled;
  sampled.variability.iterations = static_cast<int>(slowest.size());
  sampled.variability.report = report;
  sampled.variability.jitter = LogNormal{};  // something is drawn of the ranks
  sampled.slowest = std::move(slowest);
  return std::make_shared<const SampledRanks>(std::move(sampled));
}

Prediction predict(const Scenario& scenario) {
  Prediction prediction;
  run_all({&scenario, 1}, 1, [&](std::size_t, Prediction one) { prediction = std::move(one); });
  return prediction;
}

Seconds duration(const Timeline& timeline) {
  return timeline.last_to_finish().duration();
}

// Backward 30 ms; two all-reduces at 10 and 30 ms, x 1, 1.2 and 0.9.
Scenario three_iterations(ReportedIteration report = ReportedIteration::median) {
  auto scenario = make_scenario(make_trace({1, 1}, {10, 30}), {{0, 0.2}, {0, 0.2}}, Reducer::overlap, {});
  scenario.sampled = drawn_for({{{0, 1.0}}, {{1, 1.2}}, {{0, 0.9}}}, report);
  return scenario;
}

// 1 MB over 0.2 GB/s: 5 ms, hidden but for the last.
TEST(SampledIterations, EachIsAsLongAsItsSlowestRankSays) {
  auto prediction = predict(three_iterations());
  ASSERT_EQ(prediction.iterations.size(), 3U);
  EXPECT_NEAR(prediction.iterations[0].value(), 0.035, 1e-12);
  EXPECT_NEAR(prediction.iterations[1].value(), 0.041, 1e-12);
  EXPECT_NEAR(prediction.iterations[2].value(), 0.032, 1e-12);
  EXPECT_NEAR(prediction.unvaried.value(), 0.035, 1e-12);
}

TEST(SampledIterations, TheReportedOneIsTheMedianOrThe95thPercentile) {
  auto median = predict(three_iterations()).timeline;
  EXPECT_NEAR(duration(median).value(), 0.035, 1e-12);
  EXPECT_EQ(median.last_to_finish().rank, 0);
  auto p95 = predict(three_iterations(ReportedIteration::p95)).timeline;
  EXPECT_NEAR(duration(p95).value(), 0.041, 1e-12);
  EXPECT_EQ(p95.last_to_finish().rank, 1);
  EXPECT_EQ(p95.last_to_finish().ranks, 1);
}

TEST(SampledIterations, WithoutThemThereIsOne) {
  auto scenario = three_iterations();
  scenario.sampled = nullptr;
  auto prediction = predict(scenario);
  EXPECT_TRUE(prediction.iterations.empty());
  EXPECT_NEAR(duration(prediction.timeline).value(), 0.035, 1e-12);
}

TEST(SampledIterations, EveryFidelityGivesTheSame) {
  auto scenario = three_iterations();
  scenario.fidelity = Fidelity::closed_form;
  auto closed_form = predict(scenario);
  for (auto fidelity : {Fidelity::exact, Fidelity::folded, Fidelity::lazy, Fidelity::fluid}) {
    scenario.fidelity = fidelity;
    auto simulated = predict(scenario);
    for (std::size_t i = 0; i < 3; ++i)
      EXPECT_NEAR(simulated.iterations[i].value(), closed_form.iterations[i].value(), 1e-9)
          << fidelity_name(fidelity);
  }
}

// Random cases of any strategy, with interference or without: ranks of many speeds, each simulated as a class
// of its own, take as long as the slowest of them alone.
void compare_with_all_ranks(Scenario scenario, unsigned seed) {
  std::mt19937 random(seed);
  auto& group = scenario.groups[0];
  group.rank_classes.clear();
  for (int rank = 0; rank < group.ranks; ++rank)
    group.rank_classes.push_back({rank, 1, std::uniform_real_distribution(0.8, 1.5)(random)});
  auto slowest = group.slowest_class();
  auto all = predict(scenario);
  scenario.sampled = drawn_for({{{slowest.rank, slowest.slowdown}}});
  auto one = predict(scenario);
  ASSERT_NEAR(one.iterations[0].value(), duration(all.timeline).value(),
              1e-9 * duration(all.timeline).value())
      << "seed " << seed;
  ASSERT_NEAR(one.unvaried.value(), duration(all.timeline).value(), 1e-12) << "seed " << seed;
}

TEST(SampledIterations, TheSlowestRankDecidesWithInterference) {
  for (unsigned seed = 1; seed <= kCases; ++seed)
    compare_with_all_ranks(RandomCoupledCase(seed).scenario, seed);
}

TEST(SampledIterations, TheSlowestRankDecidesWithout) {
  for (unsigned seed = 1; seed <= kCases; ++seed) {
    auto scenario = RandomCoupledCase(seed).scenario;
    scenario.physics = {};
    compare_with_all_ranks(std::move(scenario), seed);
  }
}

// Two groups of two ranks, each on links of its own: the one whose iteration is longer is reported, here the
// second one's in the median iteration.
TEST(SampledIterations, GroupsDifferByTheirLabels) {
  auto scenario = base_scenario(make_trace({1, 1}, {10, 30}), Reducer::overlap, {}, 4);
  scenario.groups = {{2, {{0, 2, 1.0}}, Seconds(0)}, {2, {{2, 2, 1.0}}, Seconds(1e-3), 1}};
  auto cluster = ring_cluster({{0, 0.2}, {0, 0.2}, {0, 0.2}, {0, 0.2}});
  cluster->way = [](int from, int to) { return from / 2 == to / 2 ? std::vector{from} : std::vector<int>{}; };
  connect(scenario, cluster, in_rank_order(Algorithm::ring), {{0, 1}, {2, 3}});
  scenario.fidelity = Fidelity::closed_form;
  scenario.sampled = drawn_for({{{0, 1.0}, {3, 2.0}}, {{1, 3.0}, {3, 1.0}}, {{1, 1.0}, {2, 1.5}}});
  auto prediction = predict(scenario);
  EXPECT_NEAR(prediction.iterations[0].value(), 0.065, 1e-12);
  EXPECT_NEAR(prediction.iterations[1].value(), 0.095, 1e-12);
  EXPECT_NEAR(prediction.iterations[2].value(), 0.050, 1e-12);
  EXPECT_EQ(prediction.timeline.last_to_finish().rank, 3);
  EXPECT_EQ(prediction.timeline.last_to_finish().slowdown, 2.0);
}

}  // namespace
}  // namespace ddpsim::testing
