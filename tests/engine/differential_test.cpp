// The four ways to simulate a scenario agree to 1e-9 wherever nothing shares a link.
#include <random>

#include <gtest/gtest.h>

#include "tests/engine/scenarios.hpp"

namespace ddpsim::testing {
namespace {

void expect_same(const Timeline& a, const Timeline& b) {
  ASSERT_EQ(a.rank_classes.size(), b.rank_classes.size());
  for (std::size_t c = 0; c < a.rank_classes.size(); ++c) {
    const auto &x = a.rank_classes[c].communication, &y = b.rank_classes[c].communication;
    ASSERT_EQ(x.size(), y.size());
    for (std::size_t i = 0; i < x.size(); ++i) {
      double scale = std::max(x.back().end.value(), 1e-6);
      ASSERT_NEAR(x[i].start.value(), y[i].start.value(), scale * 1e-9) << "bucket " << i;
      ASSERT_NEAR(x[i].end.value(), y[i].end.value(), scale * 1e-9) << "bucket " << i;
    }
  }
}

void expect_all_fidelities_agree(const Scenario& scenario) {
  auto exact = simulate(scenario, Fidelity::exact);
  for (auto fidelity : {Fidelity::folded, Fidelity::lazy, Fidelity::fluid, Fidelity::closed_form}) {
    SCOPED_TRACE(fidelity_name(fidelity));
    expect_same(exact, simulate(scenario, fidelity));
  }
}

TEST(Differential, StragglerTwentyPercentSlower) {
  for (int ranks : {8, 16}) {
    auto scenario =
        make_scenario(trace_of_125(), std::vector<RingLink>(ranks), Reducer::ddp, cap(Bytes(26214400)));
    scenario.groups[0].rank_classes = {{0, ranks - 1, 1.0}, {3, 1, 1.2}};
    expect_all_fidelities_agree(scenario);
  }
}

TEST(Differential, OneLinkAtHalfBandwidth) {
  std::vector<RingLink> links(16);
  links[3].bandwidth_GBps /= 2;
  expect_all_fidelities_agree(make_scenario(trace_of_125(), links, Reducer::ddp, cap(Bytes(26214400))));
}

// The edge with the largest latency need not be the slowest; a single flow for the whole ring
// would err by more than a tenth here.
TEST(Differential, LargestLatencyAndLowestBandwidthOnDifferentLinks) {
  std::vector<RingLink> links(8);
  links[2].bandwidth_GBps = 3;
  links[6].latency_us = 400;
  auto scenario = make_scenario(make_trace({0.5, 8}, {1, 2}), links, Reducer::overlap, {});
  auto timeline = simulate(scenario, Fidelity::exact);
  const auto& spans = timeline.last_to_finish().communication;
  // 14 x max(400 us + 62.5 kB / 12.5 GB/s, 5 us + 62.5 kB / 3 GB/s) = 14 x 405 us.
  EXPECT_NEAR((spans[0].end - spans[0].start).value(), 14 * 405e-6, 1e-12);
  // 14 x max(400 us + 1 MB / 12.5 GB/s, 5 us + 1 MB / 3 GB/s) = 14 x 480 us.
  EXPECT_NEAR((spans[1].end - spans[1].start).value(), 14 * 480e-6, 1e-12);
  expect_all_fidelities_agree(scenario);
}

TEST(Differential, SixtyFourRanksWithStragglerAndHalfLink) {
  std::vector<RingLink> links(64);
  links[20].bandwidth_GBps /= 2;
  std::vector<double> sizes(6, 26.2144), ready;
  for (int i = 0; i < 6; ++i) ready.push_back(6.0 * (i + 1));
  auto scenario = make_scenario(make_trace(sizes, ready), links, Reducer::ddp, cap(Bytes(26214400)));
  scenario.groups[0].rank_classes = {{0, 63, 1.0}, {5, 1, 1.2}};
  expect_all_fidelities_agree(scenario);
}

// The largest messages a trace may hold (8 PiB) and the smallest chunks (a 2-byte gradient over 1000 ranks):
// payloads are whole numbers in SimGrid, and neither end may be lost.
TEST(Differential, PetabytesAndBytes) {
  auto huge = make_scenario(make_trace({4e9}, {1}), std::vector<RingLink>(4), Reducer::flat, {});
  expect_all_fidelities_agree(huge);
  LayerTrace tiny = make_trace({1}, {0});
  tiny.gradients[0].elements = 1;
  tiny.gradients[0].dtype = DType::float16;
  for (auto fidelity : {Fidelity::folded, Fidelity::fluid}) {
    auto scenario = make_scenario(tiny, std::vector<RingLink>(1000, {0, 1}), Reducer::flat, {});
    auto span = simulate(scenario, fidelity).last_to_finish().communication.front();
    EXPECT_NEAR((span.end - span.start).value(), 2 * 999 * 2e-3 / 1e9,
                1e-9 * 4e-9);  // 2 (N-1) steps of 2/1000 B at 1 GB/s
  }
}

class RandomScenarios : public ::testing::TestWithParam<int> {};

TEST_P(RandomScenarios, AllFidelitiesAgree) {
  std::mt19937 random(static_cast<unsigned>(GetParam()));
  SCOPED_TRACE("seed " + std::to_string(GetParam()));
  auto uniform = [&](double low, double high) { return std::uniform_real_distribution(low, high)(random); };
  std::vector<RingLink> links(std::uniform_int_distribution<std::size_t>(2, 12)(random));
  for (auto& link : links)
    if (uniform(0, 1) < 0.3) link = {uniform(0, 100), uniform(0.5, 50)};
  std::vector<double> sizes, ready{0};
  auto gradients = std::uniform_int_distribution<int>(1, 12)(random);
  for (int i = 0; i < gradients; ++i) {
    sizes.push_back(std::pow(10.0, uniform(-5.3, 1.5)));
    ready.push_back(ready.back() + (uniform(0, 1) < 0.3 ? 0 : uniform(0, 5)));
  }
  ready.erase(ready.begin());
  auto strategy = static_cast<Reducer>(std::uniform_int_distribution<int>(0, 3)(random));
  auto scenario =
      make_scenario(make_trace(sizes, ready), links, strategy,
                    strategy == Reducer::ddp ? cap(Bytes(std::round(uniform(1, 4e7)))) : DdpOptions{});
  if (uniform(0, 1) < 0.5)
    scenario.groups[0].rank_classes = {{0, scenario.world_size - 1, 1.0}, {1, 1, uniform(1.01, 2)}};
  expect_all_fidelities_agree(scenario);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomScenarios, ::testing::Range(1, 41));

}  // namespace
}  // namespace ddpsim::testing
