#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/report/charts.hpp"

#include "tests/report/small_case.hpp"
#include "tests/report/well_formed.hpp"
#include "tests/support/likely.hpp"

namespace ddpsim::test {
namespace {

using ::testing::Contains;
using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::Not;

SweepResult caps_and_worlds() {
  SweepResult result;
  result.title = "it's a_title";
  result.axes = {"ddp.bucket_cap", "cluster.world_size"};
  for (double cap : {1048576.0, 4194304.0, 16777216.0}) {
    result.points.push_back(point({"cap", "4"}, cap, 5 + cap / 1e7));
    result.points.push_back(point({"cap", "8"}, cap, 8 - cap / 1e7));
    result.points.back().metrics.world_size = 8;
  }
  return result;
}

SweepResult strategies() {
  SweepResult result;
  result.axes = {"strategy"};
  result.points = {point({"naive"}, std::nullopt, 8), point({"ddp"}, 1024, 5)};
  return result;
}

std::vector<std::string> legend(const Chart& chart) {
  std::vector<std::string> titles;
  for (const auto& series : chart.series)
    if (!series.title.empty()) titles.push_back(series.title);
  return titles;
}

std::vector<std::string> labels_of(const std::vector<ChartTic>& tics) {
  std::vector<std::string> labels;
  for (const auto& tic : tics) labels.push_back(tic.label);
  return labels;
}

std::vector<Series> of_shape(const Chart& chart, Shape shape, Marker marker = Marker::none) {
  std::vector<Series> found;
  for (const auto& series : chart.series)
    if (series.shape == shape && series.style.marker == marker && !series.points.empty())
      found.push_back(series);
  return found;
}

// x, y, low and high of each point.
std::vector<std::vector<double>> numbers(const Series& series) {
  std::vector<std::vector<double>> all;
  for (const auto& p : series.points) all.push_back({p.x, p.y, p.low, p.high});
  return all;
}

TEST(LineChart, OneLineAGroupAlongTheCap) {
  auto chart = sweep_chart(caps_and_worlds());
  EXPECT_EQ(chart.title, "it's a_title");
  EXPECT_EQ(chart.x.title, "bucket cap");
  EXPECT_EQ(chart.y.title, "iteration time (ms)");
  EXPECT_TRUE(chart.x.is_log);
  EXPECT_THAT(labels_of(chart.x.tics), ElementsAre("1 MiB", "2 MiB", "4 MiB", "8 MiB", "16 MiB"));
  EXPECT_THAT(legend(chart),
              ElementsAre("compute only", "cluster.world_size = 4", "cluster.world_size = 8", "shortest"));
  // 5 s + 1048576 / 10^7 s, in ms
  auto lines = of_shape(chart, Shape::line, Marker::dot);
  EXPECT_NEAR(lines.at(0).points.at(0).y, 5104.8576, 1e-9);
  EXPECT_NEAR(lines.at(0).points.at(1).y, 5419.4304, 1e-9);
  auto best = of_shape(chart, Shape::upright, Marker::ring).at(1).points.front();
  EXPECT_EQ(best.x, 16777216);
  EXPECT_NEAR(best.y, 6322.2784, 1e-9);
  EXPECT_EQ(chart.labels.at(1).text, "16 MiB: 6322 ms");
  EXPECT_EQ(chart.series.front().points.front().y, 3500);  // compute only: 1 + 2 + 0.5 s
}

TEST(LineChart, MeasuredCapsAreDrawnWhereTheyWereMeasured) {
  auto result = caps_and_worlds();
  result.measured = {{"ddp", 8, Bytes(26214400), Seconds(7), Seconds(0.5)},
                     {"ddp", std::nullopt, Bytes(1048576), Seconds(6), std::nullopt},
                     {"ddp", 2, Bytes(1048576), Seconds(6), std::nullopt}};
  auto chart = sweep_chart(result);
  auto measured = of_shape(chart, Shape::upright, Marker::square);
  ASSERT_EQ(measured.size(), 2U);
  EXPECT_THAT(numbers(measured[0]), ElementsAre(std::vector<double>{26214400, 7000, 6500, 7500}));
  EXPECT_EQ(measured[0].style.colour, of_shape(chart, Shape::line, Marker::dot).at(1).style.colour);
  EXPECT_THAT(numbers(measured[1]), ElementsAre(std::vector<double>{1048576, 6000, 6000, 6000}));
  EXPECT_EQ(measured[1].style.colour, kNeutralColour);  // of both worlds
  EXPECT_THAT(legend(chart), Contains("measured"));
}

TEST(LineChart, WhatTimesMayAsWellBeIsABand) {
  auto result = caps_and_worlds();
  EXPECT_TRUE(of_shape(sweep_chart(result), Shape::band).empty());
  // 10 and 25 % of 4, 5, 6 and 7 s lie at or below the middles of the first two's shares.
  result.points[0].metrics.uncertainty = testing::one_of({4, 5, 6, 7});
  auto chart = sweep_chart(result);
  auto bands = of_shape(chart, Shape::band);
  EXPECT_NEAR(bands.at(0).points.at(0).low, 4000, 1e-9);
  EXPECT_NEAR(bands.at(0).points.at(0).high, 7000, 1e-9);
  EXPECT_NEAR(bands.at(1).points.at(0).low, 4500, 1e-9);
  EXPECT_NEAR(bands.at(1).points.at(0).high, 6500, 1e-9);
  EXPECT_THAT(legend(chart), Contains("50 and 80 % sure"));
}

TEST(LineChart, StrategiesWithoutCapsAreLevels) {
  SweepResult result;
  result.axes = {"strategy", "ddp.bucket_cap"};
  result.points = {point({"naive", "1KiB"}, std::nullopt, 8), point({"ddp", "1KiB"}, 1024, 5),
                   point({"ddp", "2KiB"}, 2048, 6)};
  auto level = of_shape(sweep_chart(result), Shape::line).at(1);
  EXPECT_EQ(level.title, "strategy = naive");
  EXPECT_EQ(level.points.front().y, 8000);
  EXPECT_EQ(level.points.back().y, 8000);
}

TEST(LineChart, NumbersMakeALine) {
  SweepResult result;
  result.axes = {"cluster.world_size"};
  result.points = {point({"2"}, 1024, 5), point({"1024"}, 1024, 6)};
  auto chart = sweep_chart(result);
  EXPECT_THAT(
      numbers(of_shape(chart, Shape::line, Marker::dot).at(0)),
      ElementsAre(std::vector<double>{2, 5000, 5000, 5000}, std::vector<double>{1024, 6000, 6000, 6000}));
  EXPECT_THAT(labels_of(chart.x.tics), ElementsAre("2", "1024"));
  EXPECT_THAT(legend(chart), Not(Contains("shortest")));
}

TEST(LineChart, OfManyLinesTheFirstAreNamed) {
  SweepResult result;
  result.axes = {"ddp.bucket_cap", "ddp.first_bucket_cap"};
  for (int i = 0; i < 40; ++i)
    for (double cap : {1e6, 1e9})
      result.points.push_back(point({"cap", "a rather long name of file " + std::to_string(i)}, cap, 5 + i));
  auto chart = sweep_chart(result);
  EXPECT_EQ(chart.legend_title, "ddp.first_bucket_cap");
  EXPECT_THAT(legend(chart), Contains("a rather long name of..."));
  EXPECT_THAT(legend(chart), Contains("... 28 more"));  // 40 lines, 12 named
  EXPECT_TRUE(chart.labels.empty());
}

TEST(BarChart, AnythingElseMakesStackedBars) {
  auto result = strategies();
  result.points[1].measured = MeasuredIteration{{}, {}, {}, Seconds(4), Seconds(0.5)};
  auto chart = sweep_chart(result);
  EXPECT_THAT(labels_of(chart.x.tics), ElementsAre("naive", "ddp"));
  EXPECT_THAT(legend(chart),
              ElementsAre("forward", "backward", "exposed communication", "optimizer", "measured"));
  // backward: from 1 s to 3 s
  auto box = chart.series.at(1).points.at(1);
  EXPECT_THAT((std::vector{box.left, box.right, box.low, box.high}),
              ElementsAre(DoubleEq(0.68), DoubleEq(1.32), 1000, 3000));
  EXPECT_THAT(numbers(chart.series.back()), ElementsAre(std::vector<double>{1.41, 4000, 3500, 4500}));
  EXPECT_EQ(chart.texts.at(0).text, "8000");
}

TEST(BarChart, APipelineWaits) {
  auto result = strategies();
  auto& metrics = result.points[1].metrics;
  metrics.bubble = Seconds(0.25);
  metrics.iteration += metrics.bubble;
  auto chart = sweep_chart(result);
  EXPECT_THAT(legend(chart), Contains("pipeline bubble"));
  double top = 0;
  for (const auto& series : of_shape(chart, Shape::boxes)) top = std::max(top, series.points.at(1).high);
  EXPECT_DOUBLE_EQ(top, 1e3 * metrics.iteration.value());
}

TEST(BarChart, VersionsAreNoNumbers) {
  auto result = strategies();
  result.axes = {"ddp.torch"};
  result.points[0].axis_values = {"1.13"};
  result.points[1].axis_values = {"2.6"};
  EXPECT_FALSE(of_shape(sweep_chart(result), Shape::boxes).empty());
}

TEST(BarChart, LongTimesAreInSeconds) {
  auto result = strategies();
  result.points[0] = point({"naive"}, std::nullopt, 80);
  EXPECT_EQ(sweep_chart(result).y.title, "iteration time (s)");
}

TEST(SweepChart, SmallAndLargeSweepsAreDrawn) {
  SweepResult one_cap, no_axis, many_bars;
  one_cap.axes = {"ddp.bucket_cap"};
  one_cap.points = {point({"1KiB"}, 1024, 3.5)};  // nothing exposed: on the line of compute alone
  no_axis.points = {point({}, 1024, 5)};
  many_bars.axes = {"workload.trace"};
  for (int i = 0; i < 200; ++i)
    many_bars.points.push_back(point({"a rather long name of file " + std::to_string(i)}, 1024, 5 + i));
  for (const auto& sweep : {one_cap, no_axis, many_bars, strategies(), caps_and_worlds()}) {
    auto text = svg(sweep_chart(sweep));
    EXPECT_TRUE(is_well_formed(text)) << text;
    EXPECT_THAT(text, HasSubstr("iteration time ("));
    EXPECT_THAT(text, Not(HasSubstr("nan")));
    EXPECT_THAT(text, Not(HasSubstr("inf\"")));
  }
}

}  // namespace
}  // namespace ddpsim::test
