// Results of a trace that nobody recorded say so, in every form.
#include "sim/result/synthetic_note.hpp"

#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/report/charts.hpp"
#include "sim/report/chrome_timeline.hpp"
#include "sim/report/console.hpp"
#include "sim/report/result_csv.hpp"
#include "sim/report/result_json.hpp"
#include "sim/report/sweep_table.hpp"

#include "tests/report/small_case.hpp"

namespace ddpsim::test {
namespace {

using ::testing::EndsWith;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::StartsWith;

constexpr const char* kMark = "estimated, not recorded (FLOPs)";

LayerTrace estimate() {
  auto trace = two_gradients();
  trace.metadata.synthetic = "FLOPs";
  return trace;
}

IterationMetrics measure_estimate() {
  auto trace = estimate();
  auto plan = two_buckets();
  return measure({{plain_rank()}}, {trace, plan, 4, "ring", "exact"});
}

// Two points of which the second is an estimate.
SweepResult one_of_two() {
  SweepResult result;
  result.axes = {"workload.trace"};
  result.points = {point({"a.csv"}, 1024, 8), point({"b.csv"}, 1024, 5)};
  result.points[1].metrics.trace_synthetic = kMark;
  return result;
}

TEST(SyntheticNote, NamesEachWayOnce) {
  auto result = one_of_two();
  EXPECT_EQ(result.trace_note(), "trace: estimated, not recorded (FLOPs)");
  result.points[0].metrics.trace_synthetic = kMark;
  EXPECT_EQ(result.trace_note(), "trace: estimated, not recorded (FLOPs)");
  result.points[0].metrics.trace_synthetic = "guessed";
  EXPECT_EQ(result.trace_note(), "trace: guessed; estimated, not recorded (FLOPs)");
  result.points.resize(1);
  result.points[0].metrics.trace_synthetic = std::nullopt;
  EXPECT_EQ(result.trace_note(), "");
}

TEST(SyntheticNote, OfOneIteration) {
  EXPECT_EQ(measure_small({{plain_rank()}}).trace_synthetic, std::nullopt);
  auto metrics = measure_estimate();
  EXPECT_EQ(metrics.trace_synthetic, kMark);
  std::ostringstream out;
  print_iteration(out, {}, metrics);
  EXPECT_THAT(out.str(), HasSubstr("\ntrace                    estimated, not recorded (FLOPs)\n"));
  EXPECT_THAT(simulate_json(metrics, {"1", "4"}),
              HasSubstr("\"trace_synthetic\": \"estimated, not recorded (FLOPs)\""));
  EXPECT_EQ(buckets_csv(metrics),
            "index,bytes,n_gradients,ready_s,start_s,end_s,trace_synthetic\n"
            "0,1000,1,1,1,2,\"estimated, not recorded (FLOPs)\"\n"
            "1,2000,1,2,2,4,\"estimated, not recorded (FLOPs)\"\n");
}

TEST(SyntheticNote, OfASweep) {
  auto result = one_of_two();
  std::ostringstream out;
  print_sweep(out, {}, result);
  EXPECT_THAT(out.str(), EndsWith("\ntrace: estimated, not recorded (FLOPs)\n"));
  auto text = sweep_csv(result);
  EXPECT_THAT(text, HasSubstr(",best,trace_synthetic\n"));
  EXPECT_THAT(text, HasSubstr(",0,\n"));
  EXPECT_THAT(text, EndsWith(",1,\"estimated, not recorded (FLOPs)\"\n"));
}

TEST(SyntheticNote, OfBothPictures) {
  auto result = one_of_two();
  EXPECT_THAT(svg(sweep_chart(result)), HasSubstr(">trace: estimated, not recorded (FLOPs)<"));
  result.axes = {"ddp.bucket_cap"};
  EXPECT_THAT(svg(sweep_chart(result)), HasSubstr(">trace: estimated, not recorded (FLOPs)<"));
  result.points[1].metrics.trace_synthetic = std::nullopt;
  EXPECT_THAT(svg(sweep_chart(result)), Not(HasSubstr("estimated")));
}

TEST(SyntheticNote, OfATimeline) {
  auto trace = estimate();
  auto plan = two_buckets();
  auto text = chrome_timeline_json({{plain_rank()}}, {trace, plan, 4, "ring", "exact"});
  EXPECT_THAT(text,
              HasSubstr("{\"displayTimeUnit\": \"ms\", \"otherData\": {\"trace_synthetic\":\"estimated, not "
                        "recorded (FLOPs)\"}, \"traceEvents\": [\n"));
  EXPECT_THAT(text, HasSubstr("\"ranks like 0 (4 ranks, times estimated)\""));
}

}  // namespace
}  // namespace ddpsim::test
