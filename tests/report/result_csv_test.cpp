#include "sim/report/result_csv.hpp"

#include <gtest/gtest.h>

#include "sim/base/csv.hpp"

#include "tests/report/small_case.hpp"

namespace ddpsim::test {
namespace {

SweepResult caps_and_algorithms() {
  SweepResult result;
  result.axes = {"ddp.bucket_cap", "collective.algorithm"};
  result.points = {point({"1KiB", "ring"}, 1024, 5.5), point({"2KiB", "ring"}, 2048, 5.25)};
  for (auto& p : result.points) p.metrics.samples_per_s = p.metrics.scaling_efficiency = std::nullopt;
  return result;
}

// 5.5 = 1 + 2 + 2 + 0.5; the cap is a result key already, the algorithm asked for is not.
TEST(ResultCsv, Sweep) {
  EXPECT_EQ(
      sweep_csv(caps_and_algorithms()),
      "collective.algorithm,world_size,strategy,bucket_cap_bytes,n_buckets,forward_s,backward_compute_s,"
      "interference_s,overhead_s,communication_s,exposed_communication_s,optimizer_s,iteration_s,algorithm,"
      "fidelity,network,simulated_flows,algbw_Bps,busbw_Bps,samples_per_s,scaling_efficiency,comm_frac,"
      "reported_rank,"
      "group_size,best\n"
      "ring,4,ddp,1024,2,1,2,0,0,3,2,0.5,5.5,ring,exact,simgrid,7,1000,1500,,,0.36363636363636365,0,4,0\n"
      "ring,4,ddp,2048,2,1,2,0,0,3,1.75,0.5,5.25,ring,exact,simgrid,7,1000,1500,,,0.38095238095238093,0,4,"
      "1\n");
}

TEST(ResultCsv, MeasuredColumnsWhereAnythingWasMeasured) {
  auto result = caps_and_algorithms();
  result.points[1].measured = MeasuredIteration{{}, {}, {}, Seconds(4.2), Seconds(0.1)};
  auto text = sweep_csv(result);
  EXPECT_NE(text.find(",best,measured_iteration_s,measured_iteration_std_s,relative_error\n"),
            std::string::npos);
  EXPECT_NE(text.find(",0,4,0,,,\n"), std::string::npos);
  EXPECT_NE(text.find(",0,4,1,4.2,0.1,0.25\n"), std::string::npos);  // 5.25 / 4.2 - 1
}

TEST(ResultCsv, TextIsQuotedWhereItMustBe) {
  auto result = caps_and_algorithms();
  result.points[0].axis_values[1] = "a, \"b\"";
  result.points[1].axis_values[1] = "#c";
  auto text = sweep_csv(result);
  auto table = parse_csv({make_source("out.csv", text), text}, "a sweep");
  ASSERT_EQ(table.rows.size(), 2u);
  EXPECT_EQ(table.rows[0][0].text, "a, \"b\"");
  EXPECT_EQ(table.rows[1][0].text, "#c");
}

TEST(ResultCsv, Buckets) {
  EXPECT_EQ(buckets_csv(measure_small({{plain_rank()}})),
            "index,bytes,n_gradients,ready_s,start_s,end_s\n"
            "0,1000,1,1,1,2\n"
            "1,2000,1,2,2,4\n");
}

}  // namespace
}  // namespace ddpsim::test
