#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/report/bucket_table.hpp"
#include "sim/report/charts.hpp"

#include "tests/report/small_case.hpp"
#include "tests/report/well_formed.hpp"

namespace ddpsim::test {
namespace {

using namespace literals;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

// n gradients of 1 MiB, `apart` from one another, in buckets of that cap.
LayerTrace equal_gradients(int n, Seconds apart) {
  LayerTrace trace;
  for (int i = 0; i < n; ++i)
    trace.gradients.push_back({"g" + std::to_string(i), 1 << 18, DType::float32, apart * (i + 1), {}});
  trace.registration_order = reverse_of_arrival(trace.gradients.size());
  return trace;
}

ReductionPlan plan_of(const LayerTrace& trace, Bytes cap) {
  DdpOptions options;
  options.bucket_cap = cap;
  return make_reduction_plan(trace, Reducer::ddp, options);
}

Chart chart_of(const LayerTrace& trace, Bytes cap) {
  return backward_chart(trace, plan_of(trace, cap));
}

using Corners = std::vector<std::pair<double, double>>;
Corners corners(const Series& series) {
  Corners all;
  for (const auto& point : series.points) all.emplace_back(point.x, point.y);
  return all;
}

std::vector<std::string> words(const std::vector<ChartText>& texts) {
  std::vector<std::string> all;
  for (const auto& text : texts) all.push_back(text.text);
  return all;
}

TEST(BackwardChart, StairsOfGradientsAndOfBuckets) {
  auto trace = equal_gradients(4, 10_ms);
  trace.metadata.model = "it's small";
  trace.metadata.device = "GPU";
  auto chart = chart_of(trace, 2_MiB);
  EXPECT_EQ(chart.title, "Backward pass of it's small on GPU: 2 buckets, bucket cap 2 MiB");
  EXPECT_EQ(chart.x.title, "time from the start of the backward pass (ms)");
  EXPECT_EQ(chart.y.title, "gradients (MiB)");
  // 1 MiB more every 10 ms; two of them make a bucket. The stairs go on to the end of the axis, 1.03 x 40 ms.
  EXPECT_EQ(chart.series.at(2).title, "gradients ready");
  EXPECT_EQ(corners(chart.series.at(2)), (Corners{{0, 0},
                                                  {10, 0},
                                                  {10, 1},
                                                  {20, 1},
                                                  {20, 2},
                                                  {30, 2},
                                                  {30, 3},
                                                  {40, 3},
                                                  {40, 4},
                                                  {41.2, 4},
                                                  {41.2, 4}}));
  EXPECT_EQ(corners(chart.series.at(0)),
            (Corners{{0, 0}, {20, 0}, {20, 2}, {40, 2}, {40, 4}, {41.2, 4}, {41.2, 4}}));
  EXPECT_EQ(chart.series.at(3).points.size(), 2U);
  EXPECT_THAT(words(chart.texts), ElementsAre("1", "0"));  // the last has its place first
  EXPECT_THAT(words(chart.labels), ElementsAre("20 ms", "40 ms"));
}

TEST(BackwardChart, ACapLargerThanTheModelIsOneBucket) {
  auto chart = chart_of(equal_gradients(4, 10_ms), 1000_MiB);
  EXPECT_THAT(chart.title, HasSubstr("1 bucket, bucket cap 1000 MiB"));
  EXPECT_EQ(chart.series.at(3).points.size(), 1U);
}

TEST(BackwardChart, OfManyBucketsSomeAreNumberedTheLastOneAlways) {
  auto chart = chart_of(equal_gradients(400, 1_ms), 1_B);
  EXPECT_EQ(chart.series.at(3).points.size(), 400U);
  EXPECT_EQ(chart.texts.front().text, "399");
  EXPECT_THAT(words(chart.labels), ElementsAre("bucket 0: 1 ms", "bucket 399: 400 ms"));
  auto text = svg(chart);
  std::size_t numbers = 0;
  for (const auto& number : chart.texts)
    numbers += text.find("fill=\"#444444\">" + number.text + "</text>") != std::string::npos ? 1 : 0;
  EXPECT_GT(numbers, 10U);
  EXPECT_LT(numbers, 40U);
}

TEST(BackwardChart, BucketsOfOneMomentAreOneMark) {
  auto chart = chart_of(equal_gradients(4, Seconds(0)), 1_B);
  EXPECT_THAT(words(chart.texts), ElementsAre("0-3"));
  EXPECT_EQ(chart.x.highest, 1);
  EXPECT_EQ(chart.series.at(3).points.size(), 1U);
}

TEST(BackwardChart, UnitsFollowTheModel) {
  EXPECT_THAT(chart_of(equal_gradients(2, 20_s), 1_B).x.title, HasSubstr("backward pass (s)"));
  EXPECT_EQ(chart_of(equal_gradients(2048, 1_ms), 1_MiB).y.title, "gradients (GiB)");
  auto tiny = two_gradients();  // 3000 B
  EXPECT_EQ(chart_of(tiny, 1_B).y.title, "gradients (KiB)");
  tiny.gradients[1].elements = 1;
  EXPECT_EQ(chart_of(tiny, 1_B).y.title, "gradients (B)");
}

TEST(BackwardChart, IsDrawnOfAnyTrace) {
  for (const auto& trace :
       {equal_gradients(1, Seconds(0)), equal_gradients(6, 1_ms), equal_gradients(300, 1_us)})
    for (auto cap : {1_B, 3_MiB, 10000_MiB}) {
      auto text = svg(chart_of(trace, cap));
      EXPECT_TRUE(is_well_formed(text)) << text;
      EXPECT_THAT(text, HasSubstr("in complete buckets"));
    }
}

TEST(BucketTable, ForPeople) {
  auto trace = equal_gradients(5, 10_ms);
  std::ostringstream out;
  print_bucket_table(out, trace, make_reduction_plan(trace, Reducer::ddp, {}));
  EXPECT_EQ(out.str(),
            "\n2 buckets, bucket cap 25 MiB (first 1 MiB), times in ms from the start of the backward pass\n"
            "bucket         MiB  gradients     complete\n"
            "     0      1.0000          1       10.000\n"
            "     1      4.0000          4       50.000\n");
}

}  // namespace
}  // namespace ddpsim::test
