#include "sim/study/run_all.hpp"

#include <new>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/engine/scenarios.hpp"

namespace ddpsim {
namespace {

using ::testing::ElementsAre;
using testing::make_scenario;
using testing::make_trace;
using testing::RingLink;

// Has no memory for the second of three worlds.
SimulatedIteration simulate_forgetfully(const Scenario& scenario) {
  if (scenario.world_size == 3) throw std::bad_alloc();
  return {testing::closed_form(scenario)};
}

class RunAll : public ::testing::TestWithParam<bool> {};
INSTANTIATE_TEST_SUITE_P(HereAndInWorkers, RunAll, ::testing::Bool());

TEST_P(RunAll, WithoutMemoryForOneScenarioTheOthersArePredicted) {
  std::vector<Scenario> scenarios;
  for (std::size_t ranks : {2, 3, 4})
    scenarios.push_back(make_scenario(make_trace({1, 1}, {10, 30}),
                                      std::vector<RingLink>(ranks, RingLink{0, 0.2}), Reducer::overlap, {}));
  for (auto& scenario : scenarios) scenario.fidelity = GetParam() ? Fidelity::lazy : Fidelity::closed_form;
  std::vector<std::size_t> predicted, lost;
  run_all(
      scenarios, 2, [&](std::size_t i, const Prediction&) { predicted.push_back(i); },
      [&](std::size_t i, const EnvironmentError& why) {
        EXPECT_EQ(why.message(), "out of memory");
        lost.push_back(i);
      },
      simulate_forgetfully);
  EXPECT_THAT(predicted, ElementsAre(0U, 2U));
  EXPECT_THAT(lost, ElementsAre(1U));
  EXPECT_THROW(run_all(
                   scenarios, 2, [](std::size_t, const Prediction&) {}, throw_lost, simulate_forgetfully),
               EnvironmentError);
}

}  // namespace
}  // namespace ddpsim
