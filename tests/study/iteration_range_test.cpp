// How doubts add up.
#include "sim/study/iteration_range.hpp"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ddpsim {
namespace {

using Of = Doubt::Of;
using ::testing::ElementsAre;

// 100 ms: 20 forward, 40 backward, 10 optimizer, 30 waited for, of 50 in flight from 40 ms to the end of 90.
IterationMetrics metrics() {
  IterationMetrics m;
  m.forward = Seconds(0.020);
  m.backward_compute = Seconds(0.040);
  m.optimizer = Seconds(0.010);
  m.exposed_communication = Seconds(0.030);
  m.communication = Seconds(0.050);
  m.iteration = Seconds(0.100);
  return m;
}

RankTimeline rank() {
  RankTimeline rank;
  rank.communication.resize(1);
  rank.communication[0].start = Seconds(0.040);
  rank.communication[0].end = Seconds(0.090);
  return rank;
}

std::optional<IterationRange> range(std::vector<Doubt> doubts, std::optional<PhysicsEnds> physics = {}) {
  Scenario scenario;
  scenario.doubts = std::move(doubts);
  if (physics) {
    scenario.physics.range.emplace();
    scenario.physics.range->most.spread.ranks = 0.03;
  }
  return iteration_range(scenario, metrics(), rank(), physics);
}

TEST(IterationRange, IsNothingWhereAllWasMeasured) {
  EXPECT_FALSE(range({}));
}

// 70 ms of compute: 1.25 times as long is 17.5 ms more, and 1.25 times as fast 14 ms less.
TEST(IterationRange, AFactorConcernsItsPart) {
  auto found = range({{Of::compute, 1.25, "compute"}});
  ASSERT_TRUE(found);
  EXPECT_NEAR(found->most.value(), 0.1175, 1e-12);
  EXPECT_NEAR(found->least.value(), 0.086, 1e-12);
  EXPECT_THAT(found->of, ElementsAre("compute"));
}

// Twice as long 50 ms of collectives are 100, which do not fit into the 50 that they had: 50 more, not the
// exposed 30.
TEST(IterationRange, WhatIsHiddenComesOut) {
  auto found = range({{Of::data, 2, "Ethernet"}});
  ASSERT_TRUE(found);
  EXPECT_NEAR(found->most.value(), 0.150, 1e-12);
  EXPECT_NEAR(found->least.value(), 0.085, 1e-12);
}

// Independent ones in quadrature, the ends of the physics with them; two parts of one phrase together.
TEST(IterationRange, AddsLogarithmsInQuadrature) {
  auto found = range({{Of::step, 1.5, "experts"}, {Of::compute, 1.25, "compute"}},
                     PhysicsEnds{Seconds(0.095), Seconds(0.110)});
  ASSERT_TRUE(found);
  EXPECT_NEAR(found->most.value(),
              0.1 * std::exp(std::sqrt(std::pow(std::log(1.5), 2) + std::pow(std::log(1.175), 2) +
                                       std::pow(std::log(1.1), 2))),
              1e-12);
  EXPECT_THAT(found->of, ElementsAre("the spread of GPUs", "compute", "experts"));
  auto together = range({{Of::compute, 1.1, "both"}, {Of::step, 1.1, "both"}});
  EXPECT_NEAR(together->most.value(), 0.1 * (1 + 0.07 + 0.1), 1e-12);
}

// What the step never waits for, and has room, changes nothing and is not named.
TEST(IterationRange, LeavesOutWhatDoesNotConcernTheStep) {
  EXPECT_FALSE(range({{Of::tensor, 2, "Ethernet"}}));
}

}  // namespace
}  // namespace ddpsim
