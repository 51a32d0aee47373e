// Hierarchical all-reduce on nodes of 8 fully connected GPUs with a rail a GPU:
// T = 14 (a0 + S/8/b0) + 2 (N/8 - 1) (a + S/N/b): 7 reduce-scatter and 7 all-gather steps of S/8 inside the
// node, and a ring all-reduce of S/8 among N/8 nodes on every rail.
#include <gtest/gtest.h>

#include "tests/engine/scenarios.hpp"

namespace ddpsim::testing {
namespace {

struct Golden {
  int ranks;
  double collective_ms;
  double backward_end_ms;
};

// N = 64: 14 x (0.5 us + 3276800 B / 200 GB/s) = 14 x 16.884 us = 236.376 us inside the nodes, and
// 14 x (5 us + 409600 B / 12.5 GB/s) = 14 x 37.768 us = 528.752 us between them: 0.765128 ms.
// The last 125 - floor(125 x 35/36) = 4 buckets are ready at 216 ms and wait for one another:
// 216 ms + 4 x 0.765128 ms = 219.060512 ms. At 1024 the lane is the bottleneck from the first bucket on:
// 6 ms + 125 x 2.026568 ms = 259.321 ms.
constexpr Golden kGolden[] = {{64, 0.765128, 219.060512},
                              {256, 1.054280, 220.217120},
                              {1024, 2.026568, 259.321},
                              {4096, 5.869640, 6 + 125 * 5.869640},
                              {16384, 21.230408, 6 + 125 * 21.230408}};

struct Case {
  Golden golden;
  Fidelity fidelity;
};

std::vector<Case> cases() {
  std::vector<Case> all;
  for (const auto& golden : kGolden)
    for (auto fidelity :
         {Fidelity::closed_form, Fidelity::exact, Fidelity::folded, Fidelity::lazy, Fidelity::fluid})
      if ((fidelity != Fidelity::exact || golden.ranks <= 64) &&
          (fidelity != Fidelity::folded || golden.ranks <= 1024))  // beyond: bench/
        all.push_back({golden, fidelity});
  return all;
}

std::string name_of(const ::testing::TestParamInfo<Case>& info) {
  return std::string(fidelity_name(info.param.fidelity)) + "_N" + std::to_string(info.param.golden.ranks);
}

Scenario two_level_scenario(LayerTrace trace, int ranks) {
  auto cluster = two_level_cluster(ranks / 8, 8);
  auto scenario = base_scenario(std::move(trace), Reducer::ddp, cap(Bytes(26214400)), ranks);
  connect(scenario, cluster, in_rank_order(Algorithm::hierarchical), {all_gpus(*cluster)});
  return scenario;
}

class Hierarchical : public ::testing::TestWithParam<Case> {};

TEST_P(Hierarchical, OneBucketTakesTheTimeOfTheEquation) {
  const auto& [golden, fidelity] = GetParam();
  auto timeline = simulate(two_level_scenario(make_trace({26.2144}, {1}), golden.ranks), fidelity);
  const auto& span = timeline.last_to_finish().communication.front();
  EXPECT_NEAR((span.end - span.start).value() * 1e3, golden.collective_ms, golden.collective_ms * 1e-9);
}

TEST_P(Hierarchical, Buckets125EndWhenTheEquationSays) {
  const auto& [golden, fidelity] = GetParam();
  double end = simulate(two_level_scenario(trace_of_125(), golden.ranks), fidelity)
                   .last_to_finish()
                   .communication.back()
                   .end.value();
  EXPECT_NEAR(end * 1e3, golden.backward_end_ms, golden.backward_end_ms * 1e-9);
}

INSTANTIATE_TEST_SUITE_P(TwoLevel, Hierarchical, ::testing::ValuesIn(cases()), name_of);

}  // namespace
}  // namespace ddpsim::testing
