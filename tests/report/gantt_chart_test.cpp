#include <cmath>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/report/charts.hpp"

#include "tests/report/small_case.hpp"

namespace ddpsim::test {
namespace {

using ::testing::Contains;
using ::testing::ElementsAre;

Chart chart_of(const Timeline& timeline) {
  auto trace = two_gradients();
  auto plan = two_buckets();
  return gantt_chart(timeline, measure(timeline, {trace, plan, 4, "ring", "exact"}), "a job");
}

std::vector<std::string> lanes(const Chart& chart) {
  std::vector<std::string> names;
  for (const auto& tic : chart.y.tics) names.push_back(tic.label);
  return names;
}

// Left, right, low and high of each, to a millionth.
std::vector<std::vector<double>> boxes_of(const Chart& chart, std::size_t kind) {
  std::vector<std::vector<double>> boxes;
  for (const auto& p : chart.series.at(kind).points) {
    boxes.push_back({p.left, p.right, p.low, p.high});
    for (auto& number : boxes.back()) number = std::round(1e6 * number) / 1e6;
  }
  return boxes;
}

TEST(GanttChart, ALaneForComputeAndOneForCommunicationOfEachClass) {
  auto chart = chart_of(with_straggler());
  EXPECT_THAT(lanes(chart), ElementsAre("ranks like 0 (3 ranks)", "communication",
                                        "rank 3 (1 rank, 1.5x slower)", "communication"));
  EXPECT_EQ(chart.x.highest, 7250);
  EXPECT_EQ(chart.title, "a job: 7250 ms a step, 2000 ms of it exposed communication");
}

// The straggler's forward pass takes 1.5 s, its backward pass 3 s.
TEST(GanttChart, BoxesAreTheSpansInMilliseconds) {
  auto chart = chart_of(with_straggler());
  EXPECT_EQ(chart.series.at(0).title, "forward");
  EXPECT_THAT(boxes_of(chart, 0), ElementsAre(std::vector<double>{0, 1000, -0.36, 0.36},
                                              std::vector<double>{0, 1500, -2.36, -1.64}));
  EXPECT_EQ(boxes_of(chart, 1).back(), (std::vector<double>{1500, 4500, -2.36, -1.64}));
}

// Each bucket's number stands in the middle of its collective, and neighbours differ in colour.
TEST(GanttChart, CollectivesTakeTurnsAndHaveTheirBucketsNumber) {
  auto chart = chart_of(with_straggler());
  auto last = chart.series.size() - 1;
  EXPECT_EQ(boxes_of(chart, last).size(), 2u);
  EXPECT_EQ(boxes_of(chart, last - 1).size(), 2u);
  ASSERT_EQ(chart.texts.size(), 4u);
  EXPECT_EQ(chart.texts[1].text, "1");
  EXPECT_EQ(chart.texts[1].x, 5500);
}

// Spans that touch are one box, or a step of a thousand layers would be a thousand boxes.
TEST(GanttChart, SpansThatTouchAreOneBox) {
  auto timeline = with_straggler();
  auto& compute = timeline.rank_classes.front().compute;
  auto before = svg(chart_of(timeline));
  for (std::size_t i = 0; i < compute.size(); ++i)
    if (compute[i].activity == Activity::backward) {
      auto middle = compute[i].start + (compute[i].end - compute[i].start) / 2;
      auto second = compute[i];
      compute[i].end = second.start = middle;
      compute.insert(compute.begin() + static_cast<std::ptrdiff_t>(i) + 1, second);
      break;
    }
  EXPECT_EQ(svg(chart_of(timeline)), before);
}

// Where there are more classes than lanes, the last to finish is there and a line says how many are not.
// Each has two of the 20 lanes.
TEST(GanttChart, AsManyClassesAsThereIsRoomFor) {
  auto timeline = with_straggler();
  auto usual = timeline.rank_classes.front();
  EXPECT_EQ(chart_of(timeline).note, "");
  for (int i = 0; i < 12; ++i) timeline.rank_classes.insert(timeline.rank_classes.begin(), usual);
  auto chart = chart_of(timeline);
  EXPECT_EQ(chart.note, "10 of 14 kinds of ranks");
  EXPECT_THAT(lanes(chart), Contains("rank 3 (1 rank, 1.5x slower)"));
}

}  // namespace
}  // namespace ddpsim::test
