// The replayed iteration against the three that it replaces.
#include <tuple>

#include <gtest/gtest.h>

#include "sim/engine/replayed_iteration.hpp"

#include "tests/engine/contention.hpp"
#include "tests/engine/random_coupled_case.hpp"
#include "tests/engine/timeline_difference.hpp"

namespace ddpsim::testing {
namespace {

constexpr double kSame = 1e-12;

void expect_same(Scenario scenario, Fidelity fidelity) {
  scenario.fidelity = fidelity;
  scenario.network = SharedNetwork::builtin;
  SCOPED_TRACE(fidelity_name(fidelity));
  auto before = simulator_for(scenario).run(scenario);
  auto replayed = replay_iteration(scenario, costs_of(scenario));
  TimelineDifference difference(before, replayed.timeline);
  EXPECT_EQ(difference.what(), "");
  EXPECT_LE(difference.largest(), kSame);
}

class ReplayDifferential : public ::testing::TestWithParam<unsigned> {};

TEST_P(ReplayDifferential, WithPhysics) {
  RandomCoupledCase random(GetParam());
  expect_same(random.scenario, Fidelity::closed_form);
  random.scenario.collective_workers = 2;
  expect_same(random.scenario, Fidelity::closed_form);
}

TEST_P(ReplayDifferential, Plain) {
  RandomCoupledCase random(GetParam());
  random.scenario.physics = {};
  for (auto fidelity : {Fidelity::closed_form, Fidelity::lazy, Fidelity::folded})
    expect_same(random.scenario, fidelity);
}

INSTANTIATE_TEST_SUITE_P(Seeds, ReplayDifferential, ::testing::Range(1U, 201U));

class ContendedReplayDifferential : public ::testing::TestWithParam<std::tuple<Sharing, unsigned>> {};

TEST_P(ContendedReplayDifferential, Plain) {
  auto [sharing, seed] = GetParam();
  auto scenario = RandomContention(sharing, seed).make();
  for (auto fidelity : {Fidelity::lazy, Fidelity::exact, Fidelity::folded}) expect_same(scenario, fidelity);
}

INSTANTIATE_TEST_SUITE_P(Seeds, ContendedReplayDifferential,
                         ::testing::Combine(::testing::Values(Sharing::two_groups, Sharing::background,
                                                              Sharing::hierarchical, Sharing::channels,
                                                              Sharing::tree, Sharing::halving_doubling),
                                            ::testing::Range(1U, 51U)));

}  // namespace
}  // namespace ddpsim::testing
