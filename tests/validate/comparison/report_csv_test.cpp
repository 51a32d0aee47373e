#include "validate/comparison/report_csv.hpp"

#include <gtest/gtest.h>

#include "sim/base/csv.hpp"

#include "tests/validate/comparison/report_case.hpp"

namespace ddpsim::validate::test {
namespace {

// 5.5 / 4 - 1 = 0.375; without 3.5 s of computing 2 / 0.5 - 1 = 3. The second and the eighth of nine samples
// are the ends of the median's interval. Of the second point only a median is known, and nothing is exposed.
TEST(ReportCsv, ARowAPoint) {
  auto report = compare(sweep_of({"ddp.bucket_cap", "collective.algorithm"},
                                 {measured_point({"1KiB", "ring"}, 1024, 5.5, 4, 0.25),
                                  measured_point({"2KiB", "ring"}, 2048, 3.5, 3.5)}),
                        {});
  for (double sample : {4.0, 3.5, 4.5, 4.0, 3.75, 4.25, 4.0, 3.25, 5.0})
    report.points[0].samples.emplace_back(sample);
  EXPECT_EQ(validation_csv(report),
            "collective.algorithm,world_size,strategy,bucket_cap_bytes,n_buckets,predicted_iteration_s,"
            "measured_iteration_s,measured_std_s,measured_least_s,measured_most_s,n_samples,relative_error,"
            "exposed_relative_error\n"
            "ring,4,ddp,1024,2,5.5,4,0.25,3.5,4.5,9,0.375,3\n"
            "ring,4,ddp,2048,2,3.5,3.5,,,,,0,\n");
}

TEST(ReportCsv, TextIsQuotedWhereItMustBe) {
  auto text =
      validation_csv(compare(sweep_of({"workload.trace"}, {measured_point({"a, b"}, 1024, 5, 5)}), {}));
  auto table = parse_csv({make_source("out.csv", text), text}, "a comparison");
  ASSERT_EQ(table.rows.size(), 1U);
  EXPECT_EQ(table.rows[0][table.column("workload.trace")].text, "a, b");
}

// Predicted to end at 2 s and 4 s: 2 / 4 - 1 and 4 / 3.2 - 1.
TEST(ReportCsv, ARowABucket) {
  auto report = full_report();
  report.points[0].buckets[0].measured.end = Seconds(4);
  EXPECT_EQ(buckets_csv(report),
            "world_size,strategy,bucket_cap_bytes,n_buckets,index,bytes,predicted_ready_s,predicted_start_s,"
            "predicted_end_s,measured_launch_s,measured_start_s,measured_end_s,end_relative_error\n"
            "4,ddp,1024,2,0,1000,1,1,2,1.25,1.5,4,-0.5\n"
            "4,ddp,1024,2,1,2000,2,2,4,2,2.5,3.2,0.25\n");
}

TEST(ReportCsv, OnlyAHeaderWithoutMeasuredBuckets) {
  auto text = buckets_csv(compare(wrong_choice(), {}));
  EXPECT_EQ(text.find('\n'), text.size() - 1);
}

}  // namespace
}  // namespace ddpsim::validate::test
