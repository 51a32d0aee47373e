// The section `variability` of a scenario.
#include <gtest/gtest.h>

#include "sim/resolve/sections.hpp"

#include "tests/config/text.hpp"
#include "tests/engine/scenarios.hpp"
#include "tests/support/temporary_folder.hpp"

namespace ddpsim::testing {
namespace {

LayerTrace trace_with_spread(std::optional<double> seconds) {
  auto trace = make_trace({1, 1}, {10, 40});
  trace.gradients[0].ready_spread = Seconds(9e-3);
  if (seconds) trace.gradients[1].ready_spread = Seconds(*seconds);
  return trace;
}

Variability read(const std::string& text, std::optional<double> spread = 2e-3) {
  auto given = read_job(parse(text + "workload: {trace: a.csv}\ncluster: {world_size: 2}\n"));
  Files files("");
  return variability_of(files, given, trace_with_spread(spread));
}

double log_normal(const std::optional<FactorDistribution>& distribution) {
  return std::get<LogNormal>(distribution.value()).spread;
}

TEST(VariabilitySection, ASeedIsEnoughWhereTheTraceHasASpread) {
  auto variability = read("variability: {seed: 3}\n");
  EXPECT_EQ(variability.seed, 3U);
  EXPECT_EQ(variability.iterations, 200);
  EXPECT_EQ(variability.report, ReportedIteration::median);
  EXPECT_DOUBLE_EQ(log_normal(variability.jitter), 0.05);  // 2 of 40 ms
  EXPECT_FALSE(variability.ranks || variability.nodes || variability.needs_nodes());
  EXPECT_DOUBLE_EQ(log_normal(read("variability: {seed: 3, jitter: trace}\n").jitter), 0.05);
}

TEST(VariabilitySection, EveryKey) {
  auto variability = read(
      "variability:\n"
      "  seed: 9007199254740992\n"
      "  iterations: 50\n"
      "  report: p95\n"
      "  jitter: 0.03\n"
      "  ranks: 0.02\n"
      "  nodes: 0.01\n"
      "  slow:\n"
      "    - {of: nodes, probability: 0.001, slowdown: 1.5}\n"
      "    - {of: ranks, probability: 0.01, slowdown: 3, lasts: iteration}\n",
      std::nullopt);
  EXPECT_EQ(variability.seed, std::uint64_t{1} << 53U);
  EXPECT_EQ(variability.iterations, 50);
  EXPECT_EQ(variability.report, ReportedIteration::p95);
  EXPECT_DOUBLE_EQ(log_normal(variability.jitter), 0.03);
  EXPECT_DOUBLE_EQ(log_normal(variability.ranks), 0.02);
  EXPECT_DOUBLE_EQ(log_normal(variability.nodes), 0.01);
  ASSERT_EQ(variability.slow.size(), 2U);
  EXPECT_EQ(variability.slow[0].of, SlowOnes::Of::nodes);
  EXPECT_EQ(variability.slow[0].lasts, SlowOnes::Lasts::run);
  EXPECT_EQ(variability.slow[0].probability, 0.001);
  EXPECT_EQ(variability.slow[1].of, SlowOnes::Of::ranks);
  EXPECT_EQ(variability.slow[1].lasts, SlowOnes::Lasts::iteration);
  EXPECT_EQ(variability.slow[1].slowdown, 3);
  EXPECT_TRUE(variability.needs_nodes());
}

// Median 40 ms.
TEST(VariabilitySection, ObservedTimesAreTakenOverTheirMedian) {
  TemporaryFolder folder;
  auto path = folder.write("steps.csv", "# of a log\nstep,compute_s\n1,0.04\n2,0.03\n3,0.06\n");
  auto variability = read("variability: {seed: 1, jitter: {observed: " + path + "}}\n");
  EXPECT_EQ(std::get<Observed>(*variability.jitter).factors, (std::vector<double>{1, 0.03 / 0.04, 1.5}));
}

TEST(VariabilitySection, JitterMayBeNone) {
  auto variability = read("variability: {seed: 1, jitter: none, ranks: 0.02}\n");
  EXPECT_FALSE(variability.jitter);
  EXPECT_TRUE(variability.ranks);
}

}  // namespace
}  // namespace ddpsim::testing
