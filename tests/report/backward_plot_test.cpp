#include "sim/report/backward_plot.hpp"

#include <fstream>
#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/process/external_program.hpp"
#include "sim/report/bucket_table.hpp"
#include "sim/report/plot.hpp"

#include "tests/report/small_case.hpp"
#include "tests/support/errors.hpp"
#include "tests/support/temporary_folder.hpp"

namespace ddpsim::test {
namespace {

using namespace literals;
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

std::string script(const LayerTrace& trace, Bytes cap) {
  return backward_plot_script(trace, plan_of(trace, cap), PlotFormat::svg);
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

TEST(BackwardPlotScript, StairsOfGradientsAndOfBuckets) {
  auto trace = equal_gradients(4, 10_ms);
  trace.metadata.model = "it's small";
  trace.metadata.device = "GPU";
  auto text = script(trace, 2_MiB);
  EXPECT_THAT(text, HasSubstr("set terminal svg size 900,560 "));
  EXPECT_THAT(text,
              HasSubstr("set label \"Backward pass of it's small on GPU: 2 buckets, bucket cap 2 MiB\" at "));
  EXPECT_THAT(text, HasSubstr("'time from the start of the backward pass (ms)'"));
  EXPECT_THAT(text, HasSubstr("'gradients (MiB)'"));
  // 1 MiB more every 10 ms; two of them make a bucket. The stairs go on to the end of the axis, 1.03 x 40 ms.
  EXPECT_THAT(text, HasSubstr("$gradients << EOD\n0 0\n10 1\n20 2\n30 3\n40 4\n41.2 4\nEOD\n"));
  EXPECT_THAT(text, HasSubstr("$buckets << EOD\n0 0\n20 2\n40 4\n41.2 4\nEOD\n"));
  EXPECT_THAT(text, HasSubstr("set label '0' at screen "));
  EXPECT_THAT(text, HasSubstr("set label '1' at screen "));
  EXPECT_THAT(text, HasSubstr("set label '20 ms' at screen "));
  EXPECT_THAT(text, HasSubstr("set label '40 ms' at screen "));
  EXPECT_EQ(count(text, "set arrow"), 2U);
}

TEST(BackwardPlotScript, ACapLargerThanTheModelIsOneBucket) {
  auto text = script(equal_gradients(4, 10_ms), 1000_MiB);
  EXPECT_THAT(text, HasSubstr("1 bucket, bucket cap 1000 MiB"));
  EXPECT_THAT(text, HasSubstr("$buckets << EOD\n0 0\n40 4\n41.2 4\nEOD\n"));
  EXPECT_EQ(count(text, "set arrow"), 1U);
}

TEST(BackwardPlotScript, OfManyBucketsSomeAreNumberedTheLastOneAlways) {
  auto text = script(equal_gradients(400, 1_ms), 1_B);
  EXPECT_EQ(count(text, "set arrow"), 400U);
  auto numbers = count(text, "center textcolor rgb '#444444'");
  EXPECT_GT(numbers, 10U);
  EXPECT_LT(numbers, 40U);
  EXPECT_THAT(text, HasSubstr("set label '0' at screen "));
  EXPECT_THAT(text, HasSubstr("set label '399' at screen "));
  EXPECT_THAT(text, HasSubstr("set label 'bucket 0: 1 ms' at screen "));
  EXPECT_THAT(text, HasSubstr("set label 'bucket 399: 400 ms' at screen "));
  EXPECT_EQ(count(text, " ms' at screen "), 2U);
}

TEST(BackwardPlotScript, BucketsOfOneMomentAreOneMark) {
  auto text = script(equal_gradients(4, Seconds(0)), 1_B);
  EXPECT_THAT(text, HasSubstr("set label '0-3' at screen "));
  EXPECT_THAT(text, HasSubstr("set xrange [0:1]\n"));
  EXPECT_EQ(count(text, "set arrow"), 1U);
}

TEST(BackwardPlotScript, UnitsFollowTheModel) {
  EXPECT_THAT(script(equal_gradients(2, 20_s), 1_B), HasSubstr("backward pass (s)'"));
  EXPECT_THAT(script(equal_gradients(2048, 1_ms), 1_MiB), HasSubstr("'gradients (GiB)'"));
  auto tiny = two_gradients();  // 3000 B
  EXPECT_THAT(script(tiny, 1_B), HasSubstr("'gradients (KiB)'"));
  tiny.gradients[1].elements = 1;
  EXPECT_THAT(script(tiny, 1_B), HasSubstr("'gradients (B)'"));
}

TEST(BackwardPlot, DrawsBothFormats) {
  require_program(gnuplot());
  testing::TemporaryFolder folder;
  auto read = [](const std::string& path) {
    std::ostringstream text;
    text << std::ifstream(path, std::ios::binary).rdbuf();
    return text.str();
  };
  for (const auto& trace :
       {equal_gradients(1, Seconds(0)), equal_gradients(6, 1_ms), equal_gradients(300, 1_us)})
    for (auto cap : {1_B, 3_MiB, 10000_MiB}) {
      write_backward_plot(trace, plan_of(trace, cap), folder.path("a.svg"));
      write_backward_plot(trace, plan_of(trace, cap), folder.path("b.svg"));
      auto svg = read(folder.path("a.svg"));
      EXPECT_THAT(svg, HasSubstr("in complete buckets"));
      EXPECT_THAT(svg, HasSubstr("</svg>"));
      EXPECT_EQ(svg, read(folder.path("b.svg")));
      write_backward_plot(trace, plan_of(trace, cap), folder.path("a.png"));
      EXPECT_EQ(read(folder.path("a.png")).substr(0, 8), "\x89PNG\r\n\x1a\n");
    }
  auto trace = equal_gradients(1, 1_ms);
  EXPECT_THAT(testing::input_error([&] { write_backward_plot(trace, plan_of(trace, 1_B), "a.pdf"); }),
              HasSubstr("cannot tell the format of the plot 'a.pdf'"));
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
