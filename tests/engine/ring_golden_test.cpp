// The equation of a ring all-reduce, T = 2 (N-1) (alpha + S/N / beta), and of 125 buckets queueing on one
// lane.
#include <gtest/gtest.h>

#include "tests/engine/scenarios.hpp"

namespace ddpsim::testing {
namespace {

struct Golden {
  int ranks;
  double collective_ms;
  double backward_end_ms;
};

// N = 8: 14 x (5 us + 26214400 B / 8 / 12.5 GB/s) = 14 x (5 + 262.144) us = 3.740016 ms. The first bucket is
// ready at 6 ms x ceil(36/125) = 6 ms, the others come faster than they are reduced: 6 ms + 125 x 3.740016 ms
// = 473.502 ms.
constexpr Golden kGolden[] = {
    {8, 3.740016, 473.502}, {64, 4.758768, 600.846}, {256, 6.727920, 846.990}, {1024, 14.420208, 1808.526}};

struct Case {
  Golden golden;
  Fidelity fidelity;
};

// Every executor at every size, but flow by flow only while that takes seconds: `largest_exact` ranks
// (beyond: bench/).
std::vector<Case> cases(int largest_exact) {
  std::vector<Case> all;
  for (const auto& golden : kGolden)
    for (auto fidelity : {Fidelity::closed_form, Fidelity::exact, Fidelity::folded, Fidelity::fluid})
      if (fidelity != Fidelity::exact || golden.ranks <= largest_exact) all.push_back({golden, fidelity});
  return all;
}

std::string name_of(const ::testing::TestParamInfo<Case>& info) {
  return std::string(fidelity_name(info.param.fidelity)) + "_N" + std::to_string(info.param.golden.ranks);
}

class OneBucket : public ::testing::TestWithParam<Case> {};

TEST_P(OneBucket, TakesTheTimeOfTheEquation) {
  const auto& [golden, fidelity] = GetParam();
  auto scenario = make_scenario(make_trace({26.2144}, {1}), std::vector<RingLink>(golden.ranks), Reducer::ddp,
                                cap(Bytes(26214400)));
  auto timeline = simulate(scenario, fidelity);
  const auto& span = timeline.last_to_finish().communication.front();
  EXPECT_NEAR((span.end - span.start).value() * 1e3, golden.collective_ms, golden.collective_ms * 1e-9);
}

INSTANTIATE_TEST_SUITE_P(Ring, OneBucket, ::testing::ValuesIn(cases(256)), name_of);

class Buckets125 : public ::testing::TestWithParam<Case> {};

TEST_P(Buckets125, EndWhenTheEquationSays) {
  const auto& [golden, fidelity] = GetParam();
  auto scenario =
      make_scenario(trace_of_125(), std::vector<RingLink>(golden.ranks), Reducer::ddp, cap(Bytes(26214400)));
  double end = simulate(scenario, fidelity).last_to_finish().communication.back().end.value();
  EXPECT_NEAR(end * 1e3, golden.backward_end_ms, golden.backward_end_ms * 1e-9);
}

INSTANTIATE_TEST_SUITE_P(Ring, Buckets125, ::testing::ValuesIn(cases(64)), name_of);

}  // namespace
}  // namespace ddpsim::testing
