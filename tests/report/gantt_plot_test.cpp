#include "sim/report/gantt_plot.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/report/small_case.hpp"

namespace ddpsim::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string script_of(const Timeline& timeline) {
  auto trace = two_gradients();
  auto plan = two_buckets();
  return gantt_plot_script(timeline, measure(timeline, {trace, plan, 4, "ring", "exact"}), "a job",
                           PlotFormat::svg);
}

// The lines of a data block.
std::vector<std::string> rows_of(const std::string& script, const std::string& block) {
  std::istringstream text(script.substr(script.find(block + " << EOD\n")));
  std::vector<std::string> rows;
  std::string line;
  std::getline(text, line);
  while (std::getline(text, line) && line != "EOD") rows.push_back(line);
  return rows;
}

TEST(GanttPlot, ALaneForComputeAndOneForCommunicationOfEachClass) {
  auto script = script_of(with_straggler());
  EXPECT_THAT(script, HasSubstr("set ytics ('ranks like 0 (3 ranks)' 0, 'communication' -1, "
                                "'rank 3 (1 rank, 1.5x slower)' -2, 'communication' -3)"));
  EXPECT_THAT(script, HasSubstr("set xrange [0:7250]"));
}

// The straggler's forward pass takes 1.5 s, its backward pass 3 s.
TEST(GanttPlot, BoxesAreTheSpansInMilliseconds) {
  auto script = script_of(with_straggler());
  EXPECT_THAT(rows_of(script, "$kind0"),
              testing::ElementsAre("0 0 0 1000 -0.36 0.36", "0 -2 0 1500 -2.36 -1.64"));
  EXPECT_THAT(rows_of(script, "$kind1").back(), "1500 -2 1500 4500 -2.36 -1.64");
}

// Each bucket's number stands in the middle of its collective, and neighbours differ in colour.
TEST(GanttPlot, CollectivesTakeTurnsAndHaveTheirBucketsNumber) {
  auto script = script_of(with_straggler());
  EXPECT_EQ(rows_of(script, "$kind5").size(), 2u);
  EXPECT_EQ(rows_of(script, "$kind6").size(), 2u);
  EXPECT_EQ(rows_of(script, "$numbers").size(), 4u);
}

// Spans that touch are one box, or a step of a thousand layers would be a thousand boxes.
TEST(GanttPlot, SpansThatTouchAreOneBox) {
  auto timeline = with_straggler();
  auto& compute = timeline.rank_classes.front().compute;
  auto before = script_of(timeline);
  for (std::size_t i = 0; i < compute.size(); ++i)
    if (compute[i].activity == Activity::backward) {
      auto middle = compute[i].start + (compute[i].end - compute[i].start) / 2;
      auto second = compute[i];
      compute[i].end = second.start = middle;
      compute.insert(compute.begin() + static_cast<std::ptrdiff_t>(i) + 1, second);
      break;
    }
  EXPECT_EQ(script_of(timeline), before);
}

// Where there are more classes than lanes, the last to finish is there and a line says how many are not.
// Each has two of the 20 lanes.
TEST(GanttPlot, AsManyClassesAsThereIsRoomFor) {
  auto timeline = with_straggler();
  auto usual = timeline.rank_classes.front();
  EXPECT_THAT(script_of(timeline), Not(HasSubstr("kinds of ranks")));
  for (int i = 0; i < 12; ++i) timeline.rank_classes.insert(timeline.rank_classes.begin(), usual);
  auto script = script_of(timeline);
  EXPECT_THAT(script, HasSubstr("10 of 14 kinds of ranks"));
  EXPECT_THAT(script, HasSubstr("rank 3 (1 rank, 1.5x slower)"));
}

}  // namespace
}  // namespace ddpsim::test
