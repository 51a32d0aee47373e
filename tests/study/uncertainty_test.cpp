// Intervals and choices of real scenarios, by evidence of their own.
#include "sim/study/uncertainty.hpp"

#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/resolve/resolve.hpp"
#include "sim/study/choices.hpp"
#include "sim/study/simulate_once.hpp"
#include "sim/study/sweep_run.hpp"

#include "tests/support/temporary_folder.hpp"

namespace ddpsim {
namespace {

using ::testing::ElementsAre;

class UncertaintyTest : public ::testing::Test {
 protected:
  IterationMetrics metrics(const std::string& more) {
    auto path = folder_.write("scenario.yaml", job_ + more);
    return simulate_once(resolve(Files(path), config::load_yaml(path, "a scenario"))).metrics;
  }
  std::string with(const std::string& classes) {
    auto path = folder_.write("mine.yaml", "kind: evidence\nname: mine\n" + classes);
    return "evidence: " + path + "\n";
  }

  testing::TemporaryFolder folder_;
  std::string job_ = "workload: {trace: " DDPSIM_SOURCE_DIR
                     "/traces/gpt2-large-a100-bs4.csv}\ncluster: {topology: p4d, world_size: 64}\n";
};

TEST_F(UncertaintyTest, NoneIsABareNumber) {
  auto bare = metrics("evidence: none\n");
  EXPECT_EQ(bare.uncertainty, nullptr);
  auto sure = metrics("");
  EXPECT_EQ(sure.iteration, bare.iteration);
  ASSERT_TRUE(sure.uncertainty);
  EXPECT_LT(sure.uncertainty->likely().least, sure.uncertainty->middle().least);
  EXPECT_LT(sure.uncertainty->middle().most, sure.uncertainty->likely().most);
}

// Only compute is in doubt, as a factor on the whole step: exp(+-1.2816 sigma), and middle shifts it.
TEST_F(UncertaintyTest, AFactorOnTheStepIsItsInterval) {
  auto only = "physics: none\ncollective: {algorithm: measured, measured: " +
              folder_.write(
                  "table.csv",
                  "# ddpsim-allreduce: 1\n# world_size: 64\nbytes,time_s\n1024,0.00001\n1073741824,0.01\n") +
              "}\n";
  auto m = metrics(only + with("compute: {measured: {middle: 0.1, sigma: 0.2, families: 3}}\n"
                               "network: {table: {sigma: 0.000001, families: 3}}\n"));
  ASSERT_TRUE(m.uncertainty);
  auto [least, most] = m.uncertainty->likely();
  EXPECT_NEAR(std::log(least / m.iteration), 0.1 - 1.2816 * 0.2, 0.01);
  EXPECT_NEAR(std::log(most / m.iteration), 0.1 + 1.2816 * 0.2, 0.01);
  EXPECT_THAT(m.uncertainty->phrases(),
              ElementsAre("compute, recorded; such compute took 1.1 times as long"));
}

// 0 families are a declaration, one is a source.
TEST_F(UncertaintyTest, SaysWhatIsDeclared) {
  auto phrase = [](int families) {
    return Uncertainty::Part{
        find_evidence_class(Subject::network, "ethernet"), "Ethernet", {{{1, 0.7, 0.7}}, 0, families}}
        .phrase();
  };
  EXPECT_EQ(phrase(0), "Ethernet, declared");
  EXPECT_EQ(phrase(1), "Ethernet, from one source, such collectives took 2 times as long");
  EXPECT_EQ(phrase(3), "Ethernet; such collectives took 2 times as long");
}

// Iterations that differ are as sure as those that do not: curves are of the unvaried ones.
TEST_F(UncertaintyTest, IterationsThatDifferHaveIntervalsToo) {
  auto varied = metrics("variability: {seed: 1, iterations: 20, jitter: 0.02}\n");
  ASSERT_TRUE(varied.uncertainty && varied.spread);
  EXPECT_GT(varied.uncertainty->likely().width(), 0.02);
}

// Each draw simulated, with the same columns: what curves leave out is how quantities act together.
TEST_F(UncertaintyTest, CurvesAgreeWithSimulatingEachDraw) {
  auto path = folder_.write("scenario.yaml", job_);
  auto scenario = resolve(Files(path), config::load_yaml(path, "a scenario"));
  auto curves = simulate_once(scenario).metrics.uncertainty;
  auto draws = simulate_once(scenario, Simulator(), 1, kUsualDraws).metrics.uncertainty;
  ASSERT_EQ(draws->times().size(), curves->times().size());
  EXPECT_NEAR(draws->likely().least / curves->likely().least, 1, 0.03);
  EXPECT_NEAR(draws->likely().most / curves->likely().most, 1, 0.03);
  double away = 0;
  for (std::size_t i = 0; i < kUsualDraws; ++i)
    away += std::abs(std::log(draws->times()[i] / curves->times()[i])) / kUsualDraws;
  EXPECT_GT(away, 0);
  EXPECT_LT(away, 0.03);
  EXPECT_EQ(draws->parts().front().width, curves->parts().front().width);
  EXPECT_EQ(simulate_once(scenario, Simulator(), 3, kUsualDraws).metrics.uncertainty->times(),
            draws->times());
}

// Both states have points of their own, and the order in which a file says them is no matter.
TEST_F(UncertaintyTest, StatesAreReadInAnyOrder) {
  std::string fast = "{chance: 0.5, middle: -0.35, sigma: 0.25}",
              slow = "{chance: 0.5, middle: 1.6, sigma: 0.5}";
  auto one = metrics(with("network: {efa: {families: 3, states: [" + fast + ", " + slow + "]}}\n"));
  auto other = metrics(with("network: {efa: {families: 3, states: [" + slow + ", " + fast + "]}}\n"));
  EXPECT_EQ(one.uncertainty->times(), other.uncertainty->times());
}

// Whatever the strategy: a step that waits for collectives is as unsure as the network.
TEST_F(UncertaintyTest, TheNetworkMovesEveryStrategyThatWaitsForIt) {
  std::vector<std::string> waiting;
  for (std::string strategy :
       {"naive", "flat", "ddp", "fsdp", "zero1", "zero2", "zero3", "megatron", "hsdp", "parameter_server",
        "parameter_server\nparameter_server: {synchronous: false"}) {
    auto more = strategy.ends_with("false") ? "}\n" : "\n";
    auto m = metrics("strategy: " + strategy + more);
    if (m.exposed_communication < 0.1 * m.iteration) continue;
    waiting.push_back(strategy);
    double width = 0;
    for (const auto& part : m.uncertainty->parts())
      if (part.of->of == Subject::network) width = std::max(width, part.width);
    EXPECT_GT(width, 0.05) << strategy;
  }
  EXPECT_GE(waiting.size(), 4U);
  EXPECT_EQ(waiting.back().substr(0, 16), "parameter_server");
}

// A compute class moves a step that computes, whatever its strategy keeps of times; where DeepSpeed's hooks
// set the pace, theirs does.
TEST_F(UncertaintyTest, ComputeOrTheHostMovesEveryStrategy) {
  auto job =
      "workload: {model: gpt2-large, micro_batch: 4, sequence: 1024}\ncluster: {topology: dgx-h100, "
      "world_size: 8}\n";
  for (std::string strategy : {"ddp", "fsdp", "zero1", "zero3", "megatron"}) {
    job_ = job;
    auto m = metrics("strategy: " + strategy + "\n");
    double width = 0;
    for (const auto& part : m.uncertainty->parts())
      if (part.of->of == Subject::compute || (part.of->name == "hooks" && strategy.starts_with("zero")))
        width = std::max(width, part.width);
    EXPECT_GT(width, 0.1) << strategy;
  }
}

SweepPoint way(std::string name, double seconds, std::shared_ptr<const Evidence> evidence = nullptr) {
  SweepPoint point{{std::move(name)}, {}, {}};
  point.metrics.iteration = Seconds(seconds);
  Unknowns shared{{"compute named", {"compute named", {{1, 0, 0.2}}}}};
  point.metrics.uncertainty = std::make_shared<const Uncertainty>(
      Response{Seconds(seconds)}, shared, std::vector<Uncertainty::Part>(), std::move(evidence));
  return point;
}

// What ways share decides nothing; their own errors do: P(first) = Phi(ln(1.05) / (0.1 sqrt 2)) of a normal;
// Student's t is heavier, and a little less sure.
TEST_F(UncertaintyTest, OddsOfWaysByTheirOwnErrors) {
  SweepResult result;
  result.axes = {"strategy"};
  result.points = {way("ddp", 1.05), way("fsdp", 1.0)};
  add_odds(result);
  EXPECT_EQ(result.points[1].odds->p_best, 1);
  EXPECT_FALSE(result.points[0].odds->is_tied);
  EXPECT_NEAR(result.points[0].odds->regret, 0.05, 1e-9);
  EXPECT_EQ(result.best(), 1U);
  Evidence of_ways;
  of_ways.lines["choice strategy"] = {{{1, 0, 0.1}}, 0, 0};
  auto evidence = std::make_shared<const Evidence>(of_ways);
  result.points = {way("ddp", 1.05, evidence), way("fsdp", 1.0, evidence)};
  add_odds(result);
  EXPECT_NEAR(result.points[1].odds->p_best, 0.63, 0.04);
  EXPECT_TRUE(result.points[0].odds->is_tied);
  EXPECT_NEAR(result.points[0].odds->p_best + result.points[1].odds->p_best, 1, 1e-9);
  // One simulation by two names is one way: half each, and nothing lost.
  result.points = {way("fsdp", 1.0, evidence), way("hsdp", 1.0, evidence)};
  add_odds(result);
  for (const auto& point : result.points) {
    EXPECT_NEAR(point.odds->p_best, 0.5, 1e-9);
    EXPECT_EQ(point.odds->regret, 0);
  }
  result.points = {way("ddp", 1.05, evidence), way("fsdp", 1.0, evidence)};
  // Of another axis nothing is known.
  result.axes = {"ddp.bucket_cap"};
  add_odds(result);
  EXPECT_EQ(result.points[1].odds->p_best, 1);
}

// Sizes of a cluster are no ways of one job.
TEST_F(UncertaintyTest, OddsAreAmongWaysOfOneJob) {
  SweepResult result;
  result.axes = {"cluster.world_size", "ddp.static_graph"};
  for (std::string size : {"8", "16"})
    for (std::string graph : {"true", "false"}) {
      result.points.push_back(way("", graph == "true" ? 1 : 2));
      result.points.back().axis_values = {size, graph};
    }
  add_odds(result);
  std::vector<double> sure;
  for (const auto& point : result.points) sure.push_back(point.odds->p_best);
  EXPECT_THAT(sure, ElementsAre(1, 0, 1, 0));
}

// Two caps: what they share decides nothing, and a cap is not held against itself.
TEST_F(UncertaintyTest, ACapAgainstTheDefault) {
  auto evidence = std::make_shared<Evidence>();
  evidence->lines["choice cap"] = {{{1, 0, 0.012}}, 0, 3};
  auto best = way("100MiB", 1.0, evidence).metrics, usual = way("25MiB", 1.05, evidence).metrics;
  best.n_buckets = 8;
  usual.n_buckets = 100;
  auto far = odds_against(usual, best);
  ASSERT_TRUE(far);
  EXPECT_LT(far->p_best, 0.05);
  EXPECT_NEAR(far->regret, 0.05, 0.005);
  EXPECT_FALSE(far->is_tied);
  usual.uncertainty = way("25MiB", 1.004, evidence).metrics.uncertainty;
  EXPECT_TRUE(odds_against(usual, best)->is_tied);
  EXPECT_FALSE(odds_against(best, best));
  best.uncertainty = nullptr;
  EXPECT_FALSE(odds_against(usual, best));
}

}  // namespace
}  // namespace ddpsim
