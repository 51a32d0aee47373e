// Interference, variability and several collectives in flight where links are shared.
#include <gtest/gtest.h>

#include "tests/engine/contention.hpp"

namespace ddpsim::testing {
namespace {

struct Case {
  Sharing sharing;
  unsigned seed;

  [[nodiscard]] Scenario scenario(double s, double r) const {
    auto scenario = RandomContention(sharing, seed).make();
    scenario.network = SharedNetwork::builtin;
    scenario.physics.interference = {s, r};
    return scenario;
  }
};

Timeline simulated(Scenario scenario, Fidelity fidelity) {
  scenario.fidelity = fidelity;
  return Simulator()(scenario).timeline;
}

double iteration(const Timeline& timeline) {
  return timeline.last_to_finish().duration().value();
}

class SharedPhysics : public ::testing::TestWithParam<std::tuple<Sharing, unsigned>> {
 protected:
  [[nodiscard]] static Case test_case() { return {std::get<0>(GetParam()), std::get<1>(GetParam())}; }
};

TEST_P(SharedPhysics, EverySimulationGivesTheSame) {
  auto scenario = test_case().scenario(0.5, 0.3);
  auto exact = simulated(scenario, Fidelity::exact);
  for (auto fidelity : {Fidelity::folded, Fidelity::lazy})
    EXPECT_LE(difference(exact, simulated(scenario, fidelity)), 1e-9) << fidelity_name(fidelity);
}

// Two collectives of one group take turns on a ring's edges, and its hot spot moves: to a hundredth.
TEST_P(SharedPhysics, SoDoSeveralInFlight) {
  auto scenario = test_case().scenario(0.5, 0.3);
  scenario.collective_workers = 2;
  auto exact = simulated(scenario, Fidelity::exact);
  EXPECT_LE(difference(exact, simulated(scenario, Fidelity::lazy)), 1e-2);
}

TEST_P(SharedPhysics, InterferenceNeverHelps) {
  double last = iteration(simulated(test_case().scenario(0, 0), Fidelity::lazy));
  for (auto [s, r] : {std::pair{0.2, 0.0}, {0.2, 0.4}, {0.6, 0.4}, {0.6, 1.0}}) {
    double more = iteration(simulated(test_case().scenario(s, r), Fidelity::lazy));
    EXPECT_GE(more, last * (1 - 1e-9)) << s << " " << r;
    last = more;
  }
}

// The same without background traffic, or with the second group alone on the links.
TEST_P(SharedPhysics, SharingNeverHelps) {
  auto shared = test_case().scenario(0.5, 0.3);
  double together = iteration(simulated(shared, Fidelity::lazy));
  const auto& communication = *shared.communication;
  for (std::size_t g = 0; g < communication.groups.size(); ++g) {
    auto alone = shared;
    alone.groups = {shared.groups[g]};
    alone.groups.front().offset = Seconds(0);
    connect(alone, communication.cluster, communication.options, {communication.groups[g]});
    EXPECT_LE(iteration(simulated(alone, Fidelity::lazy)), together * (1 + 1e-9)) << "group " << g;
  }
}

INSTANTIATE_TEST_SUITE_P(Seeds, SharedPhysics,
                         ::testing::Combine(::testing::Values(Sharing::two_groups, Sharing::background,
                                                              Sharing::hierarchical, Sharing::channels,
                                                              Sharing::tree, Sharing::halving_doubling),
                                            ::testing::Range(1U, 21U)));

// Two groups through the same ports, the second 1 ms later: each iteration is what a scenario whose ranks are
// as slow as was drawn takes, whoever carries its flows.
TEST(SharedVariability, EachIterationIsSimulated) {
  for (auto network : {SharedNetwork::builtin, SharedNetwork::simgrid}) {
    auto scenario = Case{Sharing::two_groups, 2}.scenario(0.2, 0.1);
    scenario.groups[1].offset = Seconds(1e-3);
    scenario.groups[1].label = 1;
    auto gpus = scenario.communication->groups;
    connect(scenario, scenario.communication->cluster, scenario.communication->options, gpus);
    scenario.network = network;
    scenario.fidelity = Fidelity::lazy;
    ASSERT_NE(scenario.communication->labels[0], scenario.communication->labels[1]);
    SampledRanks sampled;
    sampled.variability.iterations = 3;
    sampled.variability.jitter = LogNormal{};  // something is drawn of the ranks
    sampled.slowest = {{{0, 1.0}, {1, 1.1}}, {{2, 1.3}, {3, 1.0}}, {{4, 1.2}, {1, 1.2}}};
    std::vector<double> expected;
    for (const auto& slowest : sampled.slowest) {
      auto one = scenario;
      for (std::size_t g = 0; g < 2; ++g)
        one.groups[g].rank_classes = {{slowest[g].rank, 1, slowest[g].slowdown}};
      one.network = SharedNetwork::builtin;
      expected.push_back(iteration(Simulator()(one).timeline));
    }
    scenario.sampled = std::make_shared<const SampledRanks>(sampled);
    std::optional<Prediction> prediction;
    run_all({&scenario, 1}, 2, [&](std::size_t, Prediction one) { prediction = std::move(one); });
    ASSERT_EQ(prediction->iterations.size(), 3U);
    for (std::size_t i = 0; i < 3; ++i)
      EXPECT_NEAR(prediction->iterations[i].value(), expected[i], 1e-8 * expected[i]);
    EXPECT_GT(prediction->simulated_flows, 0);
  }
}

}  // namespace
}  // namespace ddpsim::testing
