#include "sim/report/chart.hpp"

#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/report/well_formed.hpp"
#include "tests/support/errors.hpp"

namespace ddpsim::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

// 0 to 10 on both axes.
Chart ten_by_ten() {
  Chart chart{"a title"};
  chart.x = {"x", 0, 10};
  chart.y = {"y", 0, 10};
  return chart;
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

// Between the axes are 400 px from the top at 48 px down, and 900 px less 64 on the left and 28 on the right.
TEST(Chart, ValuesBecomePixels) {
  auto chart = ten_by_ten();
  chart.series.push_back({"a line", Shape::line, {"#123456", 2}, {{0, 0}, {10, 10}}});
  EXPECT_THAT(svg(chart), HasSubstr("<path d=\"M64 448L872 48\" fill=\"none\" stroke=\"#123456\" "
                                    "stroke-width=\"2\"/>"));
  chart.x.is_log = true;
  chart.x.lowest = 0.1;
  chart.series.front().points = {{1, 5}};  // halfway from 0.1 to 10
  EXPECT_THAT(svg(chart), HasSubstr("M468 248\""));
}

TEST(Chart, WhatLiesOutsideIsDrawnAtTheEnd) {
  auto chart = ten_by_ten();
  chart.series.push_back({"", Shape::line, {"#123456"}, {{-1e300, 5}, {1e300, 20}}});
  EXPECT_THAT(svg(chart), HasSubstr("M64 248L872 48\""));
}

TEST(Chart, ShapesReachFromLowToHigh) {
  auto chart = ten_by_ten();
  chart.series = {{"", Shape::band, {"#1"}, {{0, 5, 4, 6}, {10, 5, 4, 6}}},
                  {"", Shape::boxes, {"#2"}, {{5, 0, 0, 5, 4, 6}}},
                  {"", Shape::upright, {"#3", 1, {}, Marker::square}, {{5, 5, 0, 10}}},
                  {"", Shape::upright, {"#4", 1, {}, Marker::square}, {{5, 5}}}};
  auto text = svg(chart);
  EXPECT_THAT(text, HasSubstr("d=\"M64 208L872 208L872 288L64 288z\" fill=\"#1\""));
  EXPECT_THAT(text, HasSubstr("d=\"M387.2 448H548.8V248H387.2z\" fill=\"#2\""));
  EXPECT_THAT(text, HasSubstr("d=\"M468 448V48M464 448h8M464 48h8\" fill=\"none\" stroke=\"#3\""));
  EXPECT_EQ(count(text, "stroke=\"#4\""), 1U);  // the marker; there is no spread
}

TEST(Chart, TicsAreRoundNumbers) {
  auto chart = ten_by_ten();
  EXPECT_THAT(svg(chart), HasSubstr(">8</text>"));
  chart.y = {"y", 1391.3, 1684.9};
  for (const char* tic : {">1400<", ">1450<", ">1650<"}) EXPECT_THAT(svg(chart), HasSubstr(tic));
  EXPECT_THAT(svg(chart), Not(HasSubstr(">1700<")));
  chart.y = {"y", 0.9, 120, true};
  for (const char* tic : {">1<", ">2<", ">5<", ">10<", ">100<"}) EXPECT_THAT(svg(chart), HasSubstr(tic));
}

TEST(Chart, SizesHaveTicsAtPowersOfTwoOrAtTheEnds) {
  auto labels = [](double lowest, double highest) {
    ChartAxis axis;
    axis.lowest = lowest * 1048576;
    axis.highest = highest * 1048576;
    std::vector<std::string> all;
    for (const auto& tic : size_tics(axis)) all.push_back(tic.label);
    return all;
  };
  EXPECT_EQ(labels(1, 4), (std::vector<std::string>{"1 MiB", "2 MiB", "4 MiB"}));
  EXPECT_EQ(labels(25, 26), (std::vector<std::string>{"25 MiB", "26 MiB"}));
  EXPECT_EQ(labels(24, 48), (std::vector<std::string>{"24 MiB", "48 MiB"}));
}

TEST(Chart, CrowdedTicsAreLeftOut) {
  auto chart = ten_by_ten();
  chart.x.tics = {{1, "a long name"}, {1.1, "another"}, {9, "the last"}};
  EXPECT_THAT(svg(chart), Not(HasSubstr("another")));
  EXPECT_THAT(svg(chart), HasSubstr("the last"));
}

TEST(Chart, NamesThatAreTooLongAreTurned) {
  auto chart = ten_by_ten();
  chart.x.has_names = true;
  for (int i = 0; i < 10; ++i) chart.x.tics.push_back({i + 0.5, "short"});
  EXPECT_THAT(svg(chart), Not(HasSubstr("rotate(-35")));
  for (auto& tic : chart.x.tics) tic.label = "much too long a name";
  EXPECT_EQ(count(svg(chart), "rotate(-35"), 10U);
}

TEST(Chart, TheLegendHasATitleEach) {
  auto chart = ten_by_ten();
  chart.legend_title = "what is what";
  for (const char* title : {"one", "two", ""})
    chart.series.push_back({title, Shape::line, group_style(0), {{1, 1}, {2, 2}}});
  chart.series.push_back({"of nothing here", Shape::band, group_style(1)});
  auto text = svg(chart);
  for (const char* title : {">one<", ">two<", ">of nothing here<", ">what is what<"})
    EXPECT_THAT(text, HasSubstr(title));
  EXPECT_EQ(count(text, "text-anchor=\"start\""), 3U);
}

TEST(Chart, TextsMakeWayForThoseBefore) {
  auto chart = ten_by_ten();
  chart.texts = {{5, 5, "first", "#222222"}, {5.1, 5, "second", "#222222"}, {9, 5, "third", "#222222"}};
  EXPECT_THAT(svg(chart), Not(HasSubstr("second")));
  EXPECT_THAT(svg(chart), HasSubstr("third"));
  chart.texts = {{5, 5, "too wide for its box", "#222222", 0, 1}};
  EXPECT_THAT(svg(chart), Not(HasSubstr("too wide")));
}

TEST(Chart, LabelsStandBesideTheirPoints) {
  auto chart = ten_by_ten();
  chart.labels = {{5, 5, "here", "#222222"}};
  // 11 px and half of 16 px below y = 248, and 4.5 px to where letters stand
  EXPECT_THAT(svg(chart), HasSubstr("<text x=\"468\" y=\"271.5\" fill=\"#222222\">here</text>"));
}

// Names of files and values of axes may hold anything.
TEST(Chart, TextStaysText) {
  auto chart = ten_by_ten();
  chart.title = "<script>'\"&\x01\xff";
  chart.x.tics = {{1, "</text>"}};
  chart.series.push_back({"a < b & c", Shape::line, group_style(0), {{1, 1}}});
  auto text = svg(chart);
  EXPECT_TRUE(is_well_formed(text)) << text;
  EXPECT_THAT(text, HasSubstr(">&lt;script&gt;'&quot;&amp; \xef\xbf\xbd</text>"));
  EXPECT_THAT(text, HasSubstr(">a &lt; b &amp; c</text>"));
  EXPECT_EQ(text, svg(chart));
}

TEST(Chart, GroupsLookDifferent) {
  std::set<std::pair<std::string_view, std::string_view>> looks;
  for (std::size_t group = 0; group < 40; ++group)
    looks.insert({group_style(group).colour, group_style(group).dash});
  EXPECT_EQ(looks.size(), 40U);
}

TEST(Chart, ShortenedKeepsWholeCharacters) {
  EXPECT_EQ(shortened("abcdef", 6), "abcdef");
  EXPECT_EQ(shortened("abcdefg", 6), "abc...");
  EXPECT_EQ(shortened("ä\xc3\xb6\xc3\xbc\xc3\x9f", 3), "...");
  EXPECT_EQ(shortened("\xc3\xa4\xc3\xb6\xc3\xbc\xc3\x9f\xc3\xa4", 4), "\xc3\xa4...");
}

TEST(Chart, FitLeavesRoom) {
  ChartAxis axis;
  fit(axis, 100, 200, 0.1);
  EXPECT_DOUBLE_EQ(axis.lowest, 90);
  EXPECT_DOUBLE_EQ(axis.highest, 210);
  fit(axis, 100, 100, 0.1);
  EXPECT_DOUBLE_EQ(axis.lowest, 90);
  axis.is_log = true;
  fit(axis, 1, 100, 0.5);
  EXPECT_DOUBLE_EQ(axis.lowest, 0.1);
  EXPECT_DOUBLE_EQ(axis.highest, 1000);
  fit(axis, 8, 8, 0.5);
  EXPECT_DOUBLE_EQ(axis.lowest, 4);
  EXPECT_DOUBLE_EQ(axis.highest, 16);
}

TEST(Chart, OtherFormatsAreRefused) {
  check_plot_path("");
  check_plot_path("out.svg");
  for (const char* path : {"out.pdf", "out.png", "out", "-"})
    EXPECT_EQ(testing::input_error([&] { check_plot_path(path); }),
              std::string("error: plots are SVG, and '") + path +
                  "' does not end in .svg\nhint: write FILE.svg; for papers Python's ddpsim.plot draws with "
                  "matplotlib (.pdf, .png)");
}

}  // namespace
}  // namespace ddpsim::test
