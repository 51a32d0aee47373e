// What many iterations that differ come to, and how results show it.
#include "sim/result/iteration_spread.hpp"

#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "sim/report/console.hpp"
#include "sim/report/result_csv.hpp"
#include "sim/report/result_json.hpp"
#include "sim/report/sweep_table.hpp"

#include "tests/report/small_case.hpp"

namespace ddpsim::test {
namespace {

using ::testing::HasSubstr;

// 20 iterations of 20, 19, ..., 1 s.
IterationSpread twenty(ReportedIteration report = ReportedIteration::median) {
  SampledRanks sampled;
  sampled.variability.seed = 7;
  sampled.variability.iterations = 20;
  sampled.variability.report = report;
  sampled.growth = {{1, 1.0}, {2, 1.01}, {4, 1.02}, {8, 1.03}, {12, 1.04}};
  std::vector<Seconds> iterations;
  for (int i = 20; i > 0; --i) iterations.emplace_back(i);
  return spread_of(iterations, Seconds(8), sampled);
}

SweepResult sweep_with_spread() {
  SweepResult result;
  result.axes = {"strategy"};
  for (const char* strategy : {"naive", "ddp"})
    result.points.push_back({{strategy}, measure_small({{plain_rank()}}), {}});
  result.points[1].metrics.spread = twenty();
  return result;
}

TEST(IterationSpread, QuantilesAreIterations) {
  auto spread = twenty();
  EXPECT_EQ(spread.iterations, 20);
  EXPECT_EQ(spread.least, Seconds(1));
  EXPECT_EQ(spread.p5, Seconds(1));
  EXPECT_EQ(spread.median, Seconds(10));
  EXPECT_EQ(spread.p95, Seconds(19));
  EXPECT_EQ(spread.most, Seconds(20));
  EXPECT_EQ(spread.mean, Seconds(10.5));
  EXPECT_EQ(spread.unvaried, Seconds(8));
}

TEST(IterationSpread, OnTheConsole) {
  auto metrics = measure_small({{plain_rank()}});
  metrics.spread = twenty(ReportedIteration::p95);
  std::ostringstream out;
  print_iteration(out, {}, metrics);
  EXPECT_THAT(out.str(),
              HasSubstr("p95 of 20                p5 1 s, median 10 s, p95 19 s, mean 10.5 s, longest "
                        "20 s (seed 7)\nif nothing varied        8 s\n"));
  EXPECT_THAT(out.str(), HasSubstr("how slow the slowest of so many ranks is, on average\n"
                                   "ranks  compute %\n"
                                   "    1       +0.0\n"
                                   "    4       +2.0\n"
                                   "   12       +4.0\n"));
}

TEST(IterationSpread, InJson) {
  auto metrics = measure_small({{plain_rank()}});
  EXPECT_FALSE(nlohmann::json::parse(simulate_json(metrics, {"1", "2"})).contains("iterations"));
  metrics.spread = twenty();
  auto iterations = nlohmann::json::parse(simulate_json(metrics, {"1", "2"}))["iterations"];
  EXPECT_EQ(iterations["count"], 20);
  EXPECT_EQ(iterations["seed"], 7);
  EXPECT_EQ(iterations["reported"], "median");
  EXPECT_EQ(iterations["min_s"], 1.0);
  EXPECT_EQ(iterations["p5_s"], 1.0);
  EXPECT_EQ(iterations["median_s"], 10.0);
  EXPECT_EQ(iterations["p95_s"], 19.0);
  EXPECT_EQ(iterations["max_s"], 20.0);
  EXPECT_EQ(iterations["mean_s"], 10.5);
  EXPECT_EQ(iterations["unvaried_s"], 8.0);
  ASSERT_EQ(iterations["slowest_of"].size(), 5U);
  EXPECT_EQ(iterations["slowest_of"][1], (nlohmann::json{{"ranks", 2}, {"slowdown", 1.01}}));
}

TEST(IterationSpread, AsColumnsWhereSomePointHasIt) {
  auto result = sweep_with_spread();
  auto text = sweep_csv(result);
  EXPECT_THAT(text, HasSubstr(",best,iterations,p5_s,median_s,p95_s,mean_s,unvaried_s\n"));
  EXPECT_THAT(text, HasSubstr(",1,,,,,,\n"));
  EXPECT_THAT(text, HasSubstr(",0,20,1,10,19,10.5,8\n"));
  result.points.pop_back();
  EXPECT_EQ(sweep_csv(result).find("p95_s"), std::string::npos);
  std::ostringstream out;
  print_sweep(out, {}, sweep_with_spread());
  EXPECT_THAT(out.str(), HasSubstr("  5–95 % of steps s"));
  EXPECT_THAT(out.str(), HasSubstr("  1.00–19.00"));
}

}  // namespace
}  // namespace ddpsim::test
