#include "sim/report/sweep_html.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/report/charts.hpp"

#include "tests/report/small_case.hpp"
#include "tests/support/likely.hpp"

namespace ddpsim {
namespace {

using test::point;
using ::testing::HasSubstr;
using ::testing::Not;

// Caps of 1, 2, 4 and 8 MiB: 10, 8.03, 8 and 9 s.
SweepResult four_caps() {
  SweepResult result;
  result.axes = {"ddp.bucket_cap"};
  result.points = {point({"1MiB"}, 0x1p20, 10), point({"2MiB"}, 0x1p21, 8.03), point({"4MiB"}, 0x1p22, 8),
                   point({"8MiB"}, 0x1p23, 9)};
  result.title = "a <b>.yaml";
  return result;
}

SweepReport report_of(const std::vector<AxisValues>& axes) {
  return {{"a <b>.yaml", {"cluster.name='x'"}, axes},
          {"--html", "a b.html"},
          {"1.2.3", "3.32"},
          {{"in <1>.csv", 12, "0a1b"}},
          "why & how"};
}

const std::vector<AxisValues> kCaps{{"ddp.bucket_cap", {"1MiB", "2MiB", "4MiB", "8MiB"}}};

TEST(SweepHtml, SaysWhatToPassToPyTorch) {
  auto result = four_caps();
  result.with_default.emplace(2, WithDefaultCap{Bytes(25 * 0x1p20), Bytes(0x1p20), Seconds(9)});
  auto page = sweep_html(result, report_of(kCaps));
  // 8.03 s are within 0.5 % of 8 s, 9 s are 12.5 % more.
  EXPECT_THAT(
      page,
      HasSubstr("<tr><td>4</td><td data-key=\"8\">8.00</td><td>25 MiB (first 1 MiB)</td>"
                "<td data-key=\"9\">9.00</td><td data-key=\"0.125\">+12.5</td><td>2 MiB, 4 MiB</td></tr>"));
}

TEST(SweepHtml, ABestCapAtTheEndIsSaidToBe) {
  auto result = four_caps();
  result.points.pop_back();
  result.points.back().metrics.iteration = Seconds(7);
  EXPECT_THAT(sweep_html(result, report_of(kCaps)),
              HasSubstr("<td data-key=\"7\">7.00</td><td>4 MiB, the largest swept</td></tr>"));
}

TEST(SweepHtml, CapsAreSortedBySizeAndTheBestIsMarked) {
  auto page = sweep_html(four_caps(), report_of(kCaps));
  EXPECT_THAT(page, HasSubstr("<tr class=\"marked\"><td data-key=\"4194304\">4 MiB</td>"
                              "<td data-key=\"8\">8.00</td>"));
  EXPECT_THAT(page, HasSubstr("<tr><td data-key=\"1048576\">1 MiB</td><td data-key=\"10\">10.00</td>"));
}

TEST(SweepHtml, OtherAxesAreSortedAsTheyAreSwept) {
  SweepResult result;
  result.axes = {"cluster.topology"};
  result.points = {point({"z"}, 0x1p20, 5), point({"a"}, 0x1p20, 6)};
  auto page = sweep_html(result, report_of({{"cluster.topology", {"z", "a"}}}));
  EXPECT_THAT(page, HasSubstr("<td data-key=\"0\">z</td>"));
  EXPECT_THAT(page, HasSubstr("<td data-key=\"1\">a</td>"));
}

TEST(SweepHtml, NothingOfAnInputBecomesMarkup) {
  auto result = four_caps();
  result.notes = {{"code", "a <note> & more"}};
  result.failed = {{{"16MiB"}, PointFailure::machine, "was <killed>", 4}};
  auto page = sweep_html(result, report_of(kCaps));
  for (const char* text : {"<b>", "<1>", "<note>", "<killed>"}) EXPECT_THAT(page, Not(HasSubstr(text)));
  for (const char* text : {"<h1>a &lt;b&gt;.yaml</h1>", "in &lt;1&gt;.csv</td><td>12</td><td>0a1b</td>",
                           "<li>a &lt;note&gt; &amp; more</li>", "<tr><td>16MiB</td>",
                           "<td>was &lt;killed&gt;</td></tr>", "<pre>why &amp; how</pre>"})
    EXPECT_THAT(page, HasSubstr(text));
}

TEST(SweepHtml, TheCommandCanBeTypedAgain) {
  EXPECT_THAT(
      sweep_html(four_caps(), report_of(kCaps)),
      HasSubstr(R"(ddpsim sweep 'a &lt;b&gt;.yaml' --set 'cluster.name='\''x'\''' --html 'a b.html')"));
}

TEST(SweepHtml, WhatIsNotKnownIsNotSaid) {
  auto report = report_of(kCaps);
  report.explanation = "";
  auto page = sweep_html(four_caps(), report);
  EXPECT_THAT(page, Not(HasSubstr("What bounds")));
  EXPECT_THAT(page, Not(HasSubstr("What to know")));
  EXPECT_THAT(page, Not(HasSubstr("why not")));
}

// Of the best point, which loses least: 8 or 12 s.
TEST(SweepHtml, SaysHowSureTheBestIs) {
  auto result = four_caps();
  EXPECT_THAT(sweep_html(result, report_of(kCaps)), Not(HasSubstr("How sure the best iteration is")));
  for (auto& point : result.points) {
    point.metrics.uncertainty = testing::one_of({8, 12});
    point.odds = Odds{0.25, 0.031, true};
  }
  result.points.front().odds->regret = 0.02;
  auto page = sweep_html(result, report_of(kCaps));
  EXPECT_THAT(page, HasSubstr("<p>ddp.bucket_cap 1MiB, 80 % sure: 8 s to 12 s. If only one part"));
  EXPECT_THAT(page, HasSubstr("all%20together"));
  EXPECT_THAT(page, HasSubstr(">8.00–12.00</td>"));
}

TEST(WidthChart, ABarAPartTheWidestOnTop) {
  auto unknown = [](const char* name, double sigma) { return Unknown{name, {{1, 0, sigma}}}; };
  const auto* ethernet = find_evidence_class(Subject::network, "ethernet");
  const auto* experts = find_evidence_class(Subject::step, "experts");
  Unknowns unknowns{{"network ethernet", unknown("network ethernet", 0.1)},
                    {"step experts", unknown("step experts", 0.3)}};
  Uncertainty uncertainty(
      Response{Seconds(1)}, unknowns,
      {{ethernet, "Ethernet", {{{1, 0, 0.1}}, 0, 3}}, {experts, "experts", {{{1, 0, 0.3}}, 0, 0}}});
  auto chart = width_chart(uncertainty, "title");
  ASSERT_EQ(chart.y.tics.size(), 3U);
  EXPECT_EQ(chart.y.tics[0].label, "all together");
  EXPECT_EQ(chart.y.tics[1].label, "experts, declared");
  EXPECT_EQ(chart.y.tics[2].label, "Ethernet");
  EXPECT_GT(chart.y.tics[0].value, chart.y.tics[1].value);
  // exp(2 x 1.2816 sigma) - 1
  EXPECT_NEAR(chart.series[1].points[0].right, 115.8, 2);
  EXPECT_NEAR(chart.series[1].points[1].right, 29.2, 0.5);
}

}  // namespace
}  // namespace ddpsim
