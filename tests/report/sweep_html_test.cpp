#include "sim/report/sweep_html.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/report/small_case.hpp"

namespace ddpsim {
namespace {

using test::point;
using testing::HasSubstr;
using testing::Not;

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
  EXPECT_THAT(page, HasSubstr("<tr><td>4</td><td>8000.000</td><td>2 MiB, 4 MiB</td><td>25 MiB "
                              "(first 1 MiB)</td>"
                              "<td>9000.000</td><td>+12.5 %</td></tr>"));
}

TEST(SweepHtml, ABestCapAtTheEndIsSaidToBe) {
  auto result = four_caps();
  result.points.pop_back();
  result.points.back().metrics.iteration = Seconds(7);
  EXPECT_THAT(sweep_html(result, report_of(kCaps)),
              HasSubstr("<td>4 MiB, the largest swept</td><td>-</td><td>-</td><td>-</td>"));
}

TEST(SweepHtml, CapsAreSortedBySizeAndTheBestIsMarked) {
  auto page = sweep_html(four_caps(), report_of(kCaps));
  EXPECT_THAT(page, HasSubstr("<tr class=\"marked\"><td data-key=\"4194304\">4 MiB</td>"
                              "<td data-key=\"8000\">8000.000</td>"));
  EXPECT_THAT(page,
              HasSubstr("<tr><td data-key=\"1048576\">1 MiB</td><td data-key=\"10000\">10000.000</td>"));
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

}  // namespace
}  // namespace ddpsim
