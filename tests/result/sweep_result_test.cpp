#include "sim/result/sweep_result.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/report/small_case.hpp"

namespace ddpsim::test {
namespace {

using ::testing::ElementsAre;

SweepResult caps_and_worlds() {
  SweepResult result;
  result.axes = {"ddp.bucket_cap", "cluster.world_size"};
  result.points = {point({"1KiB", "2"}, 1024, 6.0), point({"1KiB", "4"}, 1024, 7.0),
                   point({"2KiB", "2"}, 2048, 5.5), point({"2KiB", "4"}, 2048, 7.5)};
  return result;
}

TEST(SweepResult, BestIsTheShortestIteration) {
  EXPECT_EQ(caps_and_worlds().best(), 2u);
}

TEST(SweepResult, BestOfEachGroupOfTheOtherAxes) {
  EXPECT_THAT(caps_and_worlds().best_by_group(), ElementsAre(2u, 1u));
}

TEST(SweepResult, OneGroupWhereTheCapIsNoAxis) {
  auto result = caps_and_worlds();
  result.axes[0] = "ddp.first_bucket_cap";
  EXPECT_THAT(result.best_by_group(), ElementsAre(2u));
}

TEST(SweepResult, GroupsAreNamedByTheOtherAxes) {
  auto groups = caps_and_worlds().groups(0);
  ASSERT_EQ(groups.size(), 2u);
  EXPECT_EQ(groups[1].name, "cluster.world_size = 4");
  EXPECT_THAT(groups[1].points, ElementsAre(1u, 3u));
}

TEST(SweepResult, AmongEqualsTheSmallerCapThenTheEarlierPoint) {
  SweepResult result;
  result.axes = {"ddp.bucket_cap"};
  result.points = {point({"none"}, std::nullopt, 5), point({"2KiB"}, 2048, 5), point({"1KiB"}, 1024, 5),
                   point({"1024B"}, 1024, 5)};
  EXPECT_EQ(result.best(), 2u);
}

TEST(SweepResult, TheDefaultCapWinsATie) {
  SweepResult result;
  result.axes = {"ddp.bucket_cap"};
  result.points = {point({"1MiB"}, 0x1p20, 5), point({"25MiB"}, 25 * 0x1p20, 5),
                   point({"50MiB"}, 50 * 0x1p20, 5)};
  EXPECT_EQ(result.best(), 1u);
}

TEST(SweepResult, EqualMeansToOnePartInATrillion) {
  SweepResult result;
  result.axes = {"ddp.bucket_cap"};
  result.points = {point({"2KiB"}, 2048, 5), point({"1KiB"}, 1024, 5 * (1 + 0.5e-12))};
  EXPECT_EQ(result.best(), 1u);
  result.points[1] = point({"1KiB"}, 1024, 5 * (1 + 2e-12));
  EXPECT_EQ(result.best(), 0u);
}

TEST(SweepResult, RelativeErrorIsPositiveForATooSlowPrediction) {
  EXPECT_DOUBLE_EQ(relative_error(point({}, 1024, 7.5).metrics, {{}, {}, {}, Seconds(6), {}}), 0.25);
}

}  // namespace
}  // namespace ddpsim::test
