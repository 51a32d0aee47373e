// `simulate --best-caps`: exact where it says so, never worse than the best single cap anywhere.
#include "sim/study/best_caps.hpp"

#include <random>

#include <gtest/gtest.h>

#include "sim/base/source.hpp"
#include "sim/study/scenario_metrics.hpp"

#include "tests/engine/scenarios.hpp"

namespace ddpsim {
namespace {

using testing::make_scenario;
using testing::make_trace;
using testing::RingLink;

Scenario scenario_of(LayerTrace trace, double latency_ms) {
  std::vector<RingLink> links(2, RingLink{1e3 * latency_ms, 0.5});
  auto scenario = make_scenario(std::move(trace), links, Reducer::ddp, {});
  scenario.fidelity = Fidelity::closed_form;
  return scenario;
}

Seconds iteration_with(Scenario scenario, const std::vector<Bytes>& caps) {
  scenario.ddp = {};
  scenario.ddp.bucket_caps = caps;
  scenario.ddp.torch = {2, 11};
  scenario.plan = make_reduction_plan(*scenario.trace, Reducer::ddp, scenario.ddp);
  return testing::closed_form(scenario).last_to_finish().duration();
}

LayerTrace random_trace(std::mt19937& random) {
  std::vector<double> megabytes, ready;
  auto n = 1 + random() % 7;
  double now = 0;
  for (std::size_t i = 0; i < n; ++i) {
    megabytes.push_back(0.1 * static_cast<double>(1 + random() % 60));
    ready.push_back(now += 0.1 * static_cast<double>(random() % 100));
  }
  ready.back() += 0.1;  // some backward pass
  return make_trace(megabytes, ready);
}

// Every way to cut up to seven gradients into buckets, simulated: the list is as good as the best of them.
TEST(BestCaps, AgainstEveryList) {
  std::mt19937 random(11);
  for (int i = 0; i < 60; ++i) {
    auto scenario = scenario_of(random_trace(random), 0.1 * static_cast<double>(random() % 40));
    if (i % 2 == 0) scenario.physics.spread.ranks = 0.1;
    if (i % 3 == 0) scenario.groups[0].rank_classes = {{0, 1, 1.0}, {1, 1, 1.2}};
    auto best = best_caps(scenario, 1);
    EXPECT_EQ(best.left_out, "");
    EXPECT_LE(best.list.iteration, best.single.iteration);
    EXPECT_NEAR(iteration_with(scenario, best.list.caps).value(), best.list.iteration.value(), 1e-12);
    const auto& gradients = scenario.trace->gradients;
    Seconds least(1e9);
    for (unsigned cuts = 0; cuts < 1U << (gradients.size() - 1); ++cuts) {
      std::vector<Bytes> caps(1);
      for (std::size_t g = 0; g < gradients.size(); ++g) {
        caps.back() += gradients[g].bytes();
        if (g + 1 < gradients.size() && (cuts >> g & 1U)) caps.emplace_back();
      }
      least = std::min(least, iteration_with(scenario, caps));
    }
    EXPECT_NEAR(best.list.iteration.value(), least.value(), 1e-12) << "case " << i;
  }
}

// With copies, interference and slower ranks the search leaves something out and says so; what it finds is
// simulated with all of it.
TEST(BestCaps, NeverWorseThanASingleCap) {
  std::mt19937 random(13);
  for (int i = 0; i < 40; ++i) {
    auto scenario = scenario_of(random_trace(random), 0.5);
    scenario.physics.interference = {0.3, 0.2};
    scenario.physics.overheads.pass_bandwidth = BytesPerSecond(2e9);
    scenario.physics.overheads.passes = scenario.physics.overheads.passes_of_one = {1, 1};
    scenario.groups[0].rank_classes = {{0, 1, 1.0}, {1, 1, 1.2}};
    auto best = best_caps(scenario, 1);
    EXPECT_EQ(best.left_out,
              "that compute and communication slow one another down, copies, hooks and launches");
    EXPECT_LE(best.list.iteration, best.single.iteration) << "case " << i;
  }
}

TEST(BestCaps, WhatNoListMakes) {
  auto scenario = scenario_of(make_trace({1, 2}, {1, 2}), 1);
  auto refuses = [&](auto change) {
    auto changed = scenario;
    change(changed);
    EXPECT_THROW(check_best_caps(changed), InputError);
  };
  refuses([](Scenario& s) { s.plan.reducer = Reducer::overlap; });
  refuses([](Scenario& s) { s.ddp.find_unused_parameters = true; });
  refuses([](Scenario& s) { s.ddp.iteration = DdpIteration::first; });
  refuses([](Scenario& s) { s.ddp.bucket_caps = {Bytes(1)}; });
  refuses([](Scenario& s) { s.ddp.compiled = true; });
  refuses([](Scenario& s) { s.plan.low_rank = std::make_shared<LowRankPlan>(); });
  refuses([](Scenario& s) {
    auto trace = *s.trace;
    trace.gradients[0].dtype = DType::float16;
    s.trace = std::make_shared<const LayerTrace>(std::move(trace));
  });
  EXPECT_NO_THROW(check_best_caps(scenario));
}

}  // namespace
}  // namespace ddpsim
