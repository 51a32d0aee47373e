// lazy against exact on random small scenarios: equal to 1e-9 while the hot spot of a ring stays on one edge.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include "tests/engine/contention.hpp"

namespace ddpsim::testing {
namespace {

struct Case {
  Sharing sharing;
  std::string name;
  unsigned first_seed;
};

constexpr unsigned kSeedsACase = 10;

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const auto& [sharing, name] : {std::pair{Sharing::two_groups, "two_groups"},
                                      {Sharing::background, "background"},
                                      {Sharing::hierarchical, "hierarchical"},
                                      {Sharing::channels, "channels"},
                                      {Sharing::tree, "tree"},
                                      {Sharing::halving_doubling, "halving_doubling"}})
    for (unsigned seed = 1; seed <= 40; seed += kSeedsACase) all.push_back({sharing, name, seed});
  return all;
}

class LazyEqualsExact : public ::testing::TestWithParam<Case> {};

TEST_P(LazyEqualsExact, WhileTheHotSpotStays) {
  const auto& [sharing, name, first] = GetParam();
  for (unsigned seed = first; seed < first + kSeedsACase; ++seed) {
    auto scenario = RandomContention(sharing, seed).make();
    auto exact = simulate(scenario, Fidelity::exact);
    EXPECT_LE(difference(exact, simulate(scenario, Fidelity::folded)), 1e-9) << name << ", seed " << seed;
    auto lazy = simulate(scenario, Fidelity::lazy);
    EXPECT_LE(difference(exact, lazy), 1e-9) << name << ", seed " << seed;
    scenario.network = SharedNetwork::builtin;
    EXPECT_LE(difference(lazy, simulate(scenario, Fidelity::lazy)), 1e-9)
        << name << ", builtin, seed " << seed;
    EXPECT_LE(difference(exact, simulate(scenario, Fidelity::exact)), 1e-9)
        << name << ", builtin, seed " << seed;
  }
}

std::string name_of(const ::testing::TestParamInfo<Case>& test) {
  return fmt::format("{}_from_{}", test.param.name, test.param.first_seed);
}

INSTANTIATE_TEST_SUITE_P(Seeds, LazyEqualsExact, ::testing::ValuesIn(cases()), name_of);

// Where the hot spot moves between distant edges, folded and lazy over-estimate: they put a barrier after
// each step, where an eager ring makes up for a late edge before the next one is hit. By how much is held
// here.
double barrier_error(unsigned seed, const std::vector<BackgroundFlow>& traffic, int ranks) {
  auto cluster = ring_cluster(std::vector<RingLink>(static_cast<std::size_t>(ranks), {5, 12.5}));
  auto scenario = base_scenario(make_trace({25}, {0.1}), Reducer::overlap, {}, ranks);
  connect(scenario, cluster, in_rank_order(Algorithm::ring), {all_gpus(*cluster)}, traffic);
  auto time = [&](Fidelity fidelity) {
    auto timeline = simulate(scenario, fidelity);
    const auto& span = timeline.last_to_finish().communication.back();
    return span.end - span.start;
  };
  double error = time(Fidelity::lazy) / time(Fidelity::exact) - 1;
  EXPECT_GE(error, -1e-9) << "seed " << seed << ": a barrier makes no ring faster";
  return error;
}

// Two to four flows of up to the size of the bucket, each on an edge of its own.
TEST(LazyBound, TransientTrafficOnDistantEdges) {
  double worst = 0;
  for (unsigned seed = 1; seed <= 60; ++seed) {
    std::mt19937 random(seed);
    auto uniform = [&](double low, double high) { return std::uniform_real_distribution(low, high)(random); };
    int ranks = std::uniform_int_distribution(16, 64)(random);
    std::vector<BackgroundFlow> flows;
    int count = std::uniform_int_distribution(2, 4)(random);
    for (int i = 0; i < count; ++i)
      flows.push_back(
          {{i * ranks / count}, Seconds(uniform(0, 4e-3)), Bytes(std::round(uniform(1e6, 25e6))), {}});
    worst = std::max(worst, barrier_error(seed, flows, ranks));
  }
  RecordProperty("worst", fmt::format("{:.4f}", worst));
  EXPECT_LE(worst, 0.18);
  EXPECT_GE(worst, 0.1) << "these cases do not show what they are about";
}

// The worst there is: two opposite edges take turns for as long as the collective lasts.
TEST(LazyBound, BurstsThatTakeTurns) {
  double worst = 0;
  for (unsigned seed = 1; seed <= 20; ++seed) {
    std::mt19937 random(seed);
    auto burst = Seconds(std::uniform_real_distribution(50e-6, 400e-6)(random));
    int ranks = std::uniform_int_distribution(16, 64)(random);
    std::vector<BackgroundFlow> bursts;
    for (Seconds time(0); time < Seconds(8e-3); time += burst)
      bursts.push_back({{bursts.size() % 2 == 0 ? 0 : ranks / 2}, time, std::nullopt, time + burst});
    worst = std::max(worst, barrier_error(seed, bursts, ranks));
  }
  RecordProperty("worst", fmt::format("{:.4f}", worst));
  EXPECT_LE(worst, 0.45);
  EXPECT_GE(worst, 0.2) << "the bound is far from what happens: state a better one";
}

}  // namespace
}  // namespace ddpsim::testing
