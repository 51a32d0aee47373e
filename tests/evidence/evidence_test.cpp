// Draws, intervals, choices and measurements: by hand, by known truth, and by laws that any evidence obeys.
#include <cmath>
#include <map>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/evidence/choice.hpp"
#include "sim/evidence/conditioning.hpp"
#include "sim/evidence/response.hpp"

namespace ddpsim {
namespace {

using ::testing::ElementsAre;

constexpr std::size_t kMany = 8192;

Unknown normal(const std::string& name, double sigma, double middle = 0) {
  return {name, {{1, middle, sigma}}};
}
Unknown heavy(const std::string& name, double sigma) {
  return {name, {{1, 0, sigma}}, Unknown::Kind::factor, true};
}
Response of(double seconds) {
  return {Seconds(seconds), {}};
}
Curve curve(std::initializer_list<std::pair<double, double>> points) {
  Curve made;
  for (auto [value, time] : points) made.points.push_back({value, Seconds(time)});
  return made;
}
double phi(double z) {
  return 0.5 * std::erfc(-z / std::sqrt(2));
}

// exp(+-z sqrt(0.1^2 + 0.24^2)) about 2 s, with z = 1.2816 of 80 %.
TEST(Draws, TwoSigmasGiveTheAnalyticInterval) {
  auto [least, most] = interval_of(
      draws_of(of(2), {{"compute", normal("compute", 0.1)}, {"network", normal("network", 0.24)}}, kMany),
      0.8);
  EXPECT_NEAR(std::log(least.value() / 2), -1.2816 * 0.26, 0.01);
  EXPECT_NEAR(std::log(most.value() / 2), 1.2816 * 0.26, 0.01);
}

TEST(Draws, ACurveIsReadBetweenItsPointsAndBeyondThem) {
  Response response{Seconds(1), {{"network", curve({{1, 1.0}, {2, 1.4}})}}};
  EXPECT_NEAR(response.at({{"network", 1.5}}).value(), 1.2, 1e-12);
  EXPECT_NEAR(response.at({{"network", 4}}).value(), 2.2, 1e-12);
  EXPECT_NEAR(response.at({{"network", 1.5}, {"row", 2}}).value(), 2.4, 1e-12);  // no curve: of the whole
  EXPECT_NEAR(response.at({{"network", -9}}).value(), 0.05, 1e-12);
}

// Of tables of the t distribution.
TEST(Draws, StudentsQuantiles) {
  for (auto [p, value] :
       {std::pair{0.75, 0.7407}, {0.9, 1.5332}, {0.95, 2.1318}, {0.025, -2.7764}, {0.5, 0.0}})
    EXPECT_NEAR(student_quantile(p), value, 1e-4);
}

TEST(Draws, TheSameWhateverElseIsDrawn) {
  auto network = column("network", 64);
  EXPECT_EQ(network, column("network", 64));
  EXPECT_NE(network, column("compute", 64));
  EXPECT_NE(network, column("network", 64, 2));
  std::set<int> strata;
  for (double u : network) strata.insert(static_cast<int>(64 * u));
  EXPECT_EQ(strata.size(), 64U);
  // Written down, so that another machine or library that draws otherwise is found out.
  EXPECT_NEAR(network.front(), 0.91620177446112305, 1e-15);
  EXPECT_NEAR(network.back(), 0.64430491334259543, 1e-15);
}

TEST(Draws, NoSigmaNoWidth) {
  auto draws = draws_of(of(1.5), {{"compute", normal("compute", 0)}}, 64);
  EXPECT_EQ(interval_of(draws, 0.8), (Interval{Seconds(1.5), Seconds(1.5)}));
}

TEST(Draws, LevelsAreNotBelowZero) {
  Unknown level{"interference", {{1, 0.1, 0.2}}, Unknown::Kind::level};
  EXPECT_EQ(level.at(0.01), 0);
  EXPECT_NEAR(level.at(0.5), 0.1, 1e-12);
}

TEST(Draws, TwoStatesGiveBothEnds) {
  Unknown pcie{"network", {{0.25, -1, 0.01}, {0.75, 1, 0.01}}};
  int low = 0;
  double last = 0;
  for (int i = 0; i < 400; ++i) {
    double value = pcie.at((i + 0.5) / 400);
    low += value < 1;
    EXPECT_GT(value, last);
    last = value;
  }
  EXPECT_EQ(low, 100);
  EXPECT_NEAR(std::log(pcie.at(0.5)), 1, 0.02);
}

// (sqrt(2) - 1) / sqrt(pi) of a standard normal about its middle.
TEST(Score, OfANormal) {
  std::vector<double> draws;
  for (int i = 0; i < 4000; ++i) draws.push_back(normal_quantile((i + 0.5) / 4000));
  EXPECT_NEAR(crps(draws, 0), (std::sqrt(2) - 1) / std::sqrt(M_PI), 1e-3);
}

TEST(Score, WeightedQuantiles) {
  std::vector<Seconds> draws{Seconds(1), Seconds(2), Seconds(3)};
  EXPECT_EQ(quantile_of(draws, 0.5), Seconds(2));
  EXPECT_EQ(quantile_of(draws, 0.01), Seconds(1));
  EXPECT_EQ(quantile_of(draws, 0.99), Seconds(3));
  EXPECT_EQ(quantile_of(draws, 0.5, {0, 0, 1}), Seconds(3));
  EXPECT_NEAR(quantile_of(draws, 0.5, {1, 0, 1}).value(), 2, 1e-12);
}

TEST(Choices, WhatAlternativesShareDecidesNothing) {
  Unknowns shared{{"compute", normal("compute", 0.5)}};
  Choice choice({draws_of(of(1), shared, 64), draws_of(of(1.01), shared, 64)});
  EXPECT_THAT(choice.probability(), ElementsAre(1, 0));
  EXPECT_NEAR(choice.regret()[1], 0.01, 1e-12);
  EXPECT_EQ(choice.best(), 0U);
  EXPECT_THAT(choice.ties(0, 0.005), ElementsAre(0));
  EXPECT_THAT(choice.ties(0, 0.02), ElementsAre(0, 1));
}

// P = Phi(log ratio / (sigma sqrt 2)) of normals; Student's t of four degrees is near it in the middle.
TEST(Choices, TwoThatDifferByTheirOwnErrorsAlone) {
  auto draws = [&](double seconds, const std::string& name) {
    return draws_of(of(seconds), {{"row", normal(name, 0.05)}}, kMany);
  };
  Choice choice({draws(1, "a"), draws(1.05, "b")});
  EXPECT_NEAR(choice.probability()[0], phi(std::log(1.05) / 0.05 / std::sqrt(2)), 0.015);
  EXPECT_THAT(choice.ties(0), ElementsAre(0, 1));
  Choice equal({draws(1, "a"), draws(1, "a")});
  EXPECT_THAT(equal.probability(), ElementsAre(0.5, 0.5));
}

TEST(Measurements, GiveTheAnalyticPosterior) {
  auto job = draws_of(of(1), {{"compute", normal("compute", 0.2)}}, kMany);
  auto [least, most] = interval_of(job, 0.5, *condition(job, Seconds(1.1), 0.02));
  EXPECT_NEAR(std::log(most.value() * least.value()) / 2, std::log(1.1), 0.003);
  EXPECT_LT(most / least - 1, 0.1 * (std::exp(2 * 0.674 * 0.2) - 1) + 0.03);
}

TEST(Measurements, TwoWeighAsTheirProduct) {
  auto job = draws_of(of(1), {{"compute", normal("compute", 0.2)}}, 64);
  auto first = *condition(job, Seconds(1.1), 0.05), second = *condition(job, Seconds(0.9), 0.1);
  auto both = *condition(job, Seconds(0.9), 0.1, first);
  for (std::size_t i = 0; i < both.size(); ++i) EXPECT_NEAR(both[i], first[i] * second[i], 1e-15);
}

TEST(Measurements, ARefutedModelSaysSo) {
  auto job = draws_of(of(1), {{"compute", normal("compute", 0.02)}}, 1024);
  EXPECT_EQ(condition(job, Seconds(9), 0.0001), std::nullopt);
}

// Prior 0.2, error of the step 0.1 (t4): the draws that are left lie about the step, as often as they count,
// and another job that shares the class moves with them.
TEST(Measurements, PickTheDrawsThatAllJobsThenHave) {
  Evidence evidence;
  evidence.lines["compute same_gpu"] = {{{1, 0, 0.2}}, 0.1, 3};
  Response whole{Seconds(1), {{"compute same_gpu", curve({{1, 1.0}, {2, 2.0}})}}};
  evidence.measured = {{"a step", Seconds(1.2), 0.02, whole}};
  ASSERT_TRUE(weigh(evidence));
  ASSERT_EQ(evidence.picked.size(), kUsualDraws);
  Response other{Seconds(3), {{"compute same_gpu", curve({{1, 3.0}, {2, 6.0}})}}};
  auto all = draws_of(other, evidence, kDrawsToWeigh);
  std::vector<Seconds> left;
  for (auto draw : evidence.picked) left.push_back(all[draw]);
  EXPECT_NEAR(quantile_of(left, 0.5).value(), 3.6, 0.03);
  EXPECT_LT(interval_of(left, 0.8).width(), 0.08);
  evidence.measured.push_back({"far away", Seconds(9), 0.02, whole});
  EXPECT_FALSE(weigh(evidence));
}

TEST(Measurements, NeverWidenOnAverageAndTheJobItselfTellsMost) {
  Unknowns known{{"compute", normal("c", 0.15)}, {"network", normal("n", 0.4)}};
  auto draws = [&](std::initializer_list<std::pair<double, double>> network, bool computes) {
    Response response{Seconds(1), {{"network", curve(network)}}};
    if (!computes) response.curves["compute"] = curve({{1, 1}, {2, 1}});
    return draws_of(response, known, 1024);
  };
  auto job = draws({{1, 1.0}, {2, 1.3}}, true), node = draws({{1, 1.0}, {2, 1.0}}, true),
       table = draws({{1, 1.0}, {2, 2.0}}, false);
  double before = interval_of(job, 0.8).width();
  auto after = [&](std::string_view name, const std::vector<Seconds>& measured) {
    return width_after(job, {name, measured, 0.04}, 0.8);
  };
  double by_node = after("node", node), by_table = after("table", table), by_job = after("job", job);
  EXPECT_LT(std::max(by_node, by_table), before);
  EXPECT_LT(by_job, std::min(by_node, by_table));
}

// 2,000 jobs drawn from the model itself.
TEST(Coverage, OfATruthThatIsDrawnFromTheModel) {
  Response response{Seconds(1), {{"network", curve({{0.5, 0.9}, {1, 1.0}, {2, 1.5}, {4, 2.7}})}}};
  Unknowns known{
      {"compute", normal("c", 0.1)}, {"network", normal("n", 0.4, 0.3)}, {"row", heavy("r", 0.04)}};
  auto interval = interval_of(draws_of(response, known, 256), 0.8);
  std::map<std::string, std::vector<double>> truth;
  for (const auto& [role, unknown] : known) truth[role] = column("true " + role, 2000);
  int held = 0;
  for (std::size_t i = 0; i < 2000; ++i) {
    std::map<std::string, double> values;
    for (const auto& [role, unknown] : known) values[role] = unknown.at(truth[role][i]);
    held += interval.holds(response.at(values));
  }
  EXPECT_NEAR(held / 2000.0, 0.8, 0.035);
}

}  // namespace
}  // namespace ddpsim
