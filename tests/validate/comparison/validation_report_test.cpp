#include "validate/comparison/validation_report.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/errors.hpp"
#include "tests/support/likely.hpp"
#include "tests/validate/comparison/report_case.hpp"

namespace ddpsim::validate::test {
namespace {

using ::ddpsim::testing::input_error;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

ValidationReport caps(std::vector<SweepPoint> points, const Thresholds& thresholds = {}) {
  return compare(sweep_of({"ddp.bucket_cap"}, std::move(points)), thresholds);
}

// See wrong_choice() for how these come about.
TEST(ValidationReport, ErrorsArePositiveForATooSlowPrediction) {
  auto report = compare(wrong_choice(), {});
  EXPECT_EQ(report.title, "configs/a.yaml");
  EXPECT_THAT(report.axes, ElementsAre("ddp.bucket_cap"));
  ASSERT_EQ(report.points.size(), 2U);
  EXPECT_THAT(report.points[1].axis_values, ElementsAre("2KiB"));
  EXPECT_NEAR(report.points[0].error(), 0.1, 1e-15);
  EXPECT_DOUBLE_EQ(report.points[1].error(), -0.2);
  EXPECT_EQ(report.farthest(), 1U);
  EXPECT_DOUBLE_EQ(report.largest_error(), 0.2);
}

// Computing takes 3.5 s in both: 2 s beside 1.5 s, and 1.5 s beside 2.75 s.
TEST(ValidationReport, TheExposedErrorLeavesComputingOut) {
  auto report = compare(wrong_choice(), {});
  EXPECT_DOUBLE_EQ(report.points[0].exposed_error().value(), 1.0 / 3);
  EXPECT_DOUBLE_EQ(report.points[1].exposed_error().value(), -5.0 / 11);
}

TEST(ValidationReport, NoExposedErrorWhereNothingWasExposed) {
  auto exposed_error = [](double predicted, double measured) {
    return caps({measured_point({"1KiB"}, 1024, predicted, measured)}).points[0].exposed_error();
  };
  EXPECT_EQ(exposed_error(3.5, 3.5), std::nullopt);
  EXPECT_EQ(exposed_error(3.5, 3.5 + 0.5e-9), std::nullopt);
  EXPECT_EQ(exposed_error(4.5, 3.5), std::nullopt);  // infinitely far off
  EXPECT_EQ(exposed_error(4.5, 3), std::nullopt);    // less than computing alone: not this trace's computing
  EXPECT_DOUBLE_EQ(exposed_error(3.5, 4).value(), -1);  // 0 / 0.5 - 1
  EXPECT_NEAR(exposed_error(3.5 + 4e-9, 3.5 + 2e-9).value(), 1, 1e-5);
}

TEST(ValidationReport, WhatComputingSlowsDownIsExposedToo) {
  auto point = measured_point({"1KiB"}, 1024, 5, 4);
  point.metrics.interference = Seconds(0.25);
  point.metrics.exposed_communication = Seconds(1.25);                   // 5 = 3.5 + 0.25 + 1.25
  EXPECT_DOUBLE_EQ(caps({point}).points[0].exposed_error().value(), 2);  // 1.5 / 0.5 - 1
}

TEST(ValidationReport, OnlyAMedian) {
  auto point = caps({measured_point({"1KiB"}, 1024, 5.5, 5)}).points[0];
  EXPECT_THAT(point.samples, IsEmpty());
  EXPECT_THAT(point.buckets, IsEmpty());
  EXPECT_EQ(point.spread, std::nullopt);
  EXPECT_TRUE(point.settled);
  EXPECT_EQ(point.measured, Seconds(5));
  EXPECT_EQ(compare(wrong_choice(), {}).points[1].spread, Seconds(0.5));
}

TEST(ValidationReport, PointsThatWereNotMeasuredAreLeftOut) {
  // Without it the best prediction is 5.5 s, and that is the best measurement as well.
  auto report = caps({ddpsim::test::point({"512B"}, 512, 4), measured_point({"1KiB"}, 1024, 5.5, 5),
                      measured_point({"2KiB"}, 2048, 6, 5.5)});
  ASSERT_EQ(report.points.size(), 2U);
  EXPECT_THAT(report.points[0].axis_values, ElementsAre("1KiB"));
  ASSERT_EQ(report.choices.size(), 1U);
  EXPECT_EQ(report.choices[0].points.size(), 2U);
  EXPECT_EQ(report.choices[0].predicted_best, 0U);
  EXPECT_EQ(report.choices[0].regret, 0);
}

TEST(ValidationReport, NothingMeasuredIsAMistake) {
  EXPECT_EQ(input_error([] { caps({ddpsim::test::point({"1KiB"}, 1024, 5)}); }),
            "error: none of the points was measured, so there is nothing to compare\n"
            "hint: a measurement belongs to a point of the same strategy, world size and bucket cap");
}

TEST(ValidationReport, RegretOfTheWrongChoice) {
  auto report = compare(wrong_choice(), {});
  ASSERT_EQ(report.choices.size(), 1U);
  const auto& choice = report.choices[0];
  EXPECT_EQ(choice.group, "");
  EXPECT_EQ(choice.predicted_best, 1U);
  EXPECT_EQ(choice.measured_best, 0U);
  EXPECT_DOUBLE_EQ(choice.regret, 0.25);
  EXPECT_DOUBLE_EQ(report.largest_regret().value(), 0.25);
}

// The right choice costs nothing, however wrong its time.
TEST(ValidationReport, NoRegretOfTheRightChoice) {
  auto report = caps({measured_point({"1KiB"}, 1024, 8, 5), measured_point({"2KiB"}, 2048, 9, 6)});
  EXPECT_EQ(report.choices[0].predicted_best, 0U);
  EXPECT_EQ(report.choices[0].measured_best, 0U);
  EXPECT_EQ(report.largest_regret(), 0);
}

// World size 2: predicted best 2KiB, measured 5 s beside 4 s: 25 %. World size 4: 1KiB both times.
TEST(ValidationReport, AChoiceAGroup) {
  auto report = compare(
      sweep_of({"cluster.world_size", "ddp.bucket_cap"},
               {measured_point({"2", "1KiB"}, 1024, 6, 4), measured_point({"4", "1KiB"}, 1024, 7, 8),
                measured_point({"2", "2KiB"}, 2048, 5, 5), measured_point({"4", "2KiB"}, 2048, 8, 9)}),
      {});
  ASSERT_EQ(report.choices.size(), 2U);
  EXPECT_EQ(report.choices[0].group, "cluster.world_size = 2");
  EXPECT_EQ(report.choices[0].predicted_best, 2U);
  EXPECT_EQ(report.choices[0].measured_best, 0U);
  EXPECT_DOUBLE_EQ(report.choices[0].regret, 0.25);
  EXPECT_EQ(report.choices[1].group, "cluster.world_size = 4");
  EXPECT_EQ(report.choices[1].predicted_best, 1U);
  EXPECT_EQ(report.choices[1].measured_best, 1U);
  EXPECT_EQ(report.choices[1].regret, 0);
  EXPECT_DOUBLE_EQ(report.largest_regret().value(), 0.25);
}

// Of equals the smaller cap is best on both sides.
TEST(ValidationReport, AmongEqualsTheSmallerCap) {
  auto report = caps({measured_point({"2KiB"}, 2048, 5, 6), measured_point({"1KiB"}, 1024, 5, 9),
                      measured_point({"512B"}, 512, 7, 6)});
  EXPECT_EQ(report.choices[0].predicted_best, 1U);
  EXPECT_EQ(report.choices[0].measured_best, 2U);
  EXPECT_DOUBLE_EQ(report.choices[0].regret, 0.5);  // 9 / 6 - 1
}

// Measured the same to the last bit: either is the best, and neither costs anything.
TEST(ValidationReport, NoRegretAmongMeasuredEquals) {
  auto report = caps({measured_point({"1KiB"}, 1024, 7, 6), measured_point({"2KiB"}, 2048, 5, 6)});
  EXPECT_EQ(report.choices[0].predicted_best, 1U);
  EXPECT_EQ(report.choices[0].measured_best, 0U);
  EXPECT_EQ(report.choices[0].regret, 0);
  EXPECT_EQ(report.choices[0].pairs_in_order, std::nullopt);
}

// Equal to 1e-12, so the smaller cap is the measured best, though the other one was shorter by 2 to the -42.
TEST(ValidationReport, RegretIsNeverNegative) {
  auto report =
      caps({measured_point({"1KiB"}, 1024, 7, 6), measured_point({"2KiB"}, 2048, 5, 6 * (1 - 0x1p-42))});
  EXPECT_EQ(report.choices[0].measured_best, 0U);
  EXPECT_EQ(report.choices[0].predicted_best, 1U);
  EXPECT_EQ(report.choices[0].regret, 0);
}

// Medians 5, 6, 7 and 8: six pairs. Predicted 5, 7, 6 and 8: all in order but (6, 7).
TEST(ValidationReport, PairsInOrder) {
  auto report = caps({measured_point({"1KiB"}, 1024, 5, 5), measured_point({"2KiB"}, 2048, 7, 6),
                      measured_point({"3KiB"}, 3072, 6, 7), measured_point({"4KiB"}, 4096, 8, 8)});
  EXPECT_DOUBLE_EQ(report.choices[0].pairs_in_order.value(), 5.0 / 6);
}

// 5 and 6 differ by twice the larger spread, which is not more; 5 and 8 as well as 6 and 8 do. Predicted: 5
// before 8 is in order, 6 after 8 is not.
TEST(ValidationReport, PairsWithinTheSpreadDoNotCount) {
  auto report = caps({measured_point({"1KiB"}, 1024, 6, 5, 0.125), measured_point({"2KiB"}, 2048, 9, 6, 0.5),
                      measured_point({"3KiB"}, 3072, 8, 8)});
  EXPECT_DOUBLE_EQ(report.choices[0].pairs_in_order.value(), 0.5);
}

TEST(ValidationReport, EqualPredictionsAreNoOrder) {
  auto report =
      caps({measured_point({"1KiB"}, 1024, 5, 5), measured_point({"2KiB"}, 2048, 5 * (1 + 0x1p-42), 6)});
  EXPECT_EQ(report.choices[0].pairs_in_order, 0);
}

TEST(ValidationReport, ASinglePointWithoutAxes) {
  auto report = compare(sweep_of({}, {measured_point({}, 1024, 5.5, 5)}), {});
  ASSERT_EQ(report.choices.size(), 1U);
  EXPECT_EQ(report.choices[0].group, "");
  EXPECT_EQ(report.choices[0].points.size(), 1U);
  EXPECT_EQ(report.choices[0].pairs_in_order, std::nullopt);
  EXPECT_EQ(report.largest_regret(), std::nullopt);
  EXPECT_NEAR(report.largest_error(), 0.1, 1e-15);
}

TEST(ValidationReport, WorldSizesAreNoChoice) {
  auto two = [](const std::string& axis) {
    return compare(sweep_of({axis}, {measured_point({"a"}, 1024, 5, 5), measured_point({"b"}, 1024, 6, 6)}),
                   {});
  };
  EXPECT_THAT(two("cluster.world_size").choices, IsEmpty());
  EXPECT_EQ(two("collective.algorithm").choices.size(), 1U);
}

TEST(ValidationReport, WithoutThresholdsNothingIsMissed) {
  EXPECT_THAT(compare(wrong_choice(), {}).missed(), IsEmpty());
}

// The same without a spread.
SweepResult noiseless_choice() {
  auto result = wrong_choice();
  for (auto& point : result.points) point.measured->spread.reset();
  return result;
}

TEST(ValidationReport, MissedThresholds) {
  EXPECT_THAT(compare(noiseless_choice(), {0.15, 0.02}).missed(),
              ElementsAre("the largest error is 20 %, more than 15 %: ddp.bucket_cap 2KiB",
                          "the largest regret is 25 %, more than 2 %"));
  EXPECT_THAT(compare(noiseless_choice(), {0.15, 0.3}).missed().size(), 1U);
  EXPECT_THAT(compare(noiseless_choice(), {0.3, 0.02}).missed(),
              ElementsAre("the largest regret is 25 %, more than 2 %"));
}

// Measured 4.75 to 5.25 s and 5.75 to 6.75 s. Of the error of 20 % it leaves 1 - 5 / 5.75 = 13.04 %, of the
// regret 5.75 / 5.25 - 1 = 9.524 %. The noise of each point is 5 and 8 %.
TEST(ValidationReport, AThresholdIsMissedBeyondNoiseOnly) {
  auto report = compare(wrong_choice(), {0.13, 0.09});
  EXPECT_THAT(
      report.missed(),
      ElementsAre("the largest error is 20 % (13.04 % beyond noise), more than 13 %: ddp.bucket_cap 2KiB",
                  "the largest regret is 25 % (9.524 % beyond noise), more than 9 %"));
  EXPECT_THAT(report.too_noisy(), IsEmpty());
  report = compare(wrong_choice(), {0.14, 0.14});
  EXPECT_THAT(report.missed(), IsEmpty());
  EXPECT_THAT(report.too_noisy(), IsEmpty());
}

// The noisy point's error is the smaller one, but not known to a tenth. With 1.25 s of spread the second
// point's may be 5 / 5 - 1 = 0 to 1 - 5 / 7.5, and the regret 5 / 5.25 - 1 to 7.5 / 4.75 - 1.
TEST(ValidationReport, TooNoisyToJudge) {
  auto result = wrong_choice();
  result.points[1].measured->spread = Seconds(1.25);
  auto report = compare(result, {0.1, 0.2});
  EXPECT_THAT(report.missed(), IsEmpty());
  EXPECT_THAT(report.too_noisy(),
              ElementsAre("the error is held against 10 %, and what was measured is certain to 20 % only: "
                          "ddp.bucket_cap 2KiB",
                          "the regret is held against 20 %, and what was measured is certain to 25 % only: "
                          "ddp.bucket_cap 2KiB beside ddp.bucket_cap 1KiB"));
  EXPECT_THAT(compare(result, {}).too_noisy(), IsEmpty());
}

// The second point is noisy, and longer by more than that: the choice is right.
TEST(ValidationReport, NoiseOfAPointThatIsSurelyWorseDoesNotMatter) {
  auto report =
      caps({measured_point({"1KiB"}, 1024, 5, 5), measured_point({"2KiB"}, 2048, 6, 8, 2)}, {{}, 0.01});
  EXPECT_THAT(report.missed(), IsEmpty());
  EXPECT_THAT(report.too_noisy(), IsEmpty());
}

// A prediction from 4 to 6.25 s says that it does not know better.
TEST(ValidationReport, ThePredictionsOwnRangeCounts) {
  auto result = noiseless_choice();
  auto& uncertainty = result.points[1].metrics.uncertainty;
  uncertainty = ddpsim::testing::one_of({4, 6.25});
  EXPECT_EQ(compare(result, {0.1, {}}).missed().size(), 0U);
  EXPECT_THAT(compare(result, {0.1, {}}).too_noisy(),
              ElementsAre("the error is 20 %, held against 10 %, and the prediction is no surer than that: "
                          "ddp.bucket_cap 2KiB"));
  uncertainty = ddpsim::testing::one_of({4, 5.5});  // 1 - 5.5 / 6.25 = 12 %
  EXPECT_THAT(
      compare(result, {0.1, {}}).missed(),
      ElementsAre("the largest error is 20 % (12 % beyond noise), more than 10 %: ddp.bucket_cap 2KiB"));
}

TEST(ValidationReport, AMissedRegretNamesItsGroup) {
  auto report =
      compare(sweep_of({"strategy", "ddp.bucket_cap"}, {measured_point({"flat", "1KiB"}, 1024, 5, 5),
                                                        measured_point({"ddp", "1KiB"}, 1024, 6, 4),
                                                        measured_point({"ddp", "2KiB"}, 2048, 5, 5)}),
              {{}, 0.2});
  EXPECT_THAT(report.missed(), ElementsAre("the largest regret is 25 %, more than 20 %: strategy = ddp"));
}

// 5.25 / 5 - 1 and 1.05 / 1 - 1 are 5 %, but for the last bits of a double.
TEST(ValidationReport, AThresholdThatIsJustMetIsMet) {
  EXPECT_GT(1.05 / 1 - 1, 0.05);
  EXPECT_THAT(caps({measured_point({"1KiB"}, 1024, 1.05, 1)}, {0.05, {}}).missed(), IsEmpty());
  EXPECT_THAT(caps({measured_point({"1KiB"}, 1024, 5.25, 5)}, {0.05, {}}).missed(), IsEmpty());
  EXPECT_THAT(caps({measured_point({"1KiB"}, 1024, 4.75, 5)}, {0.05, {}}).missed(), IsEmpty());
  EXPECT_EQ(caps({measured_point({"1KiB"}, 1024, 5.2500001, 5)}, {0.05, {}}).missed().size(), 1U);
  EXPECT_THAT(compare(noiseless_choice(), {{}, 0.25}).missed(), IsEmpty());
  EXPECT_EQ(compare(noiseless_choice(), {{}, 0.2499999}).missed().size(), 1U);
}

TEST(ValidationReport, ARegretThresholdNeedsAChoice) {
  EXPECT_THAT(caps({measured_point({"1KiB"}, 1024, 5, 5)}, {{}, 0.02}).missed(),
              ElementsAre("there is no choice between measured points to hold against a regret of 2 %"));
}

TEST(ComparedBucket, EndError) {
  ComparedBucket bucket;
  bucket.predicted.end = Seconds(4);
  bucket.measured.end = Seconds(3.2);
  EXPECT_DOUBLE_EQ(bucket.end_error().value(), 0.25);
  bucket.measured.end = Seconds(0);
  EXPECT_EQ(bucket.end_error(), std::nullopt);
}

}  // namespace
}  // namespace ddpsim::validate::test
