#include "validate/comparison/report_text.hpp"

#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/validate/comparison/report_case.hpp"

namespace ddpsim::validate::test {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

std::string printed(const ValidationReport& report, bool buckets = false) {
  std::ostringstream out;
  print_report(out, report, buckets);
  return out.str();
}

// wrong_choice() derives the numbers, full_report() the noise. The one pair of points differs by more than
// twice 0.5 s and is predicted the other way round.
TEST(ReportText, PointsErrorsAndChoice) {
  EXPECT_EQ(printed(full_report()), R"(configs/a.yaml, measured: gloo, 4 ranks, compute replayed
predicted from all-reduces measured before

  bucket_cap  buckets  predicted s  measured s  ± ms  error %  exposed error %
▶      1 KiB        2         5.50        5.00   250    +10.0            +33.3  not settled  measured best
       2 KiB        2         5.00        6.25   500    -20.0            -45.5               predicted best
not settled: the median was not as certain as asked for when repetitions or time ran out

largest error: -20.0 %, of ddp.bucket_cap 2KiB
predicted best 2KiB, measured best 1KiB: regret 25.0 %, 0.0 % of the pairs in order
(pairs whose measured iterations differ by more than twice their standard deviation)
missed: the largest error is 20 % (13.04 % beyond noise), more than 5 %: ddp.bucket_cap 2KiB
missed: the largest regret is 25 % (2.293 % beyond noise), more than 1 %
too noisy to judge: the error is held against 5 %, and what was measured is certain to 12.42 % only: ddp.bucket_cap 1KiB
)");
}

TEST(ReportText, BucketsBesideEachOther) {
  auto text = printed(full_report(), true);
  EXPECT_EQ(text.substr(0, printed(full_report()).size()), printed(full_report()));
  EXPECT_EQ(text.substr(printed(full_report()).size()), R"(
ddp.bucket_cap 1KiB: measured and predicted, in ms from the start of the backward pass
                              measured                        predicted                         difference
bucket        MiB     launch      start        end      ready      start        end      start        end        end
     0     0.0010   1250.000   1500.000   2500.000   1000.000   1000.000   2000.000   -500.000   -500.000     -20.0 %
     1     0.0019   2000.000   2500.000   3200.000   2000.000   2000.000   4000.000   -500.000   +800.000     +25.0 %
)");
}

TEST(ReportText, OfManyBucketsTheFirstAndTheLast) {
  auto report = full_report();
  auto& buckets = report.points[0].buckets;
  buckets.assign(100, buckets[0]);
  for (std::size_t i = 0; i < 100; ++i) buckets[i].predicted.index = i;
  auto text = printed(report, true);
  // 32 on both sides.
  EXPECT_THAT(text, HasSubstr("\n    31 "));
  EXPECT_THAT(text, HasSubstr("   ... 36 more\n    68 "));
  EXPECT_THAT(text, HasSubstr("\n    99 "));
  EXPECT_THAT(text, Not(HasSubstr("\n    32 ")));
  EXPECT_THAT(text, Not(HasSubstr("\n    67 ")));
  buckets.resize(64);
  EXPECT_THAT(printed(report, true), Not(HasSubstr("more\n")));
}

// Nothing to choose, no spread, nothing exposed: dashes instead of numbers, and no line about regret.
TEST(ReportText, ASinglePointWithoutAxes) {
  auto report = compare(sweep_of({}, {measured_point({}, 1024, 3.5, 3.5)}), {});
  report.measurement = "measured.csv";
  EXPECT_EQ(printed(report, true), R"(configs/a.yaml, measured: measured.csv

buckets  predicted s  measured s  error %
      2         3.50        3.50     +0.0

largest error: +0.0 %
)");
}

// World size 2: 5 s / 4 s - 1 of regret, and its only pair is predicted the other way round; world size 4:
// the right choice and order.
TEST(ReportText, ALineAGroup) {
  auto text = printed(compare(
      sweep_of({"cluster.world_size", "ddp.bucket_cap"},
               {measured_point({"2", "1KiB"}, 1024, 6, 4), measured_point({"2", "2KiB"}, 2048, 5, 5),
                measured_point({"4", "1KiB"}, 1024, 7, 8), measured_point({"4", "2KiB"}, 2048, 8, 9)}),
      {}));
  EXPECT_THAT(
      text, HasSubstr("cluster.world_size = 2: predicted best 2KiB, measured best 1KiB: regret 25.0 %, 0.0 % "
                      "of the pairs in order\n"
                      "cluster.world_size = 4: predicted best 1KiB, measured best 1KiB: regret 0.0 %, 100.0 "
                      "% of the pairs in order\n"));
  EXPECT_THAT(text, HasSubstr("  predicted best, measured best\n"));
  EXPECT_THAT(text, Not(HasSubstr("missed")));
  EXPECT_THAT(text, Not(HasSubstr("not settled")));
}

TEST(ReportText, WithoutCapsACandidateIsItsAxes) {
  auto text = printed(compare(sweep_of({"collective.algorithm"}, {measured_point({"ring"}, 1024, 5, 5),
                                                                  measured_point({"tree"}, 1024, 6, 6)}),
                              {}));
  EXPECT_THAT(text,
              HasSubstr("\npredicted best collective.algorithm ring, measured best collective.algorithm "
                        "ring: regret 0.0 %, 100.0 % of the pairs in order\n"));
}

}  // namespace
}  // namespace ddpsim::validate::test
