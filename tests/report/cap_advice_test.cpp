#include "sim/report/cap_advice.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/report/verdict.hpp"

#include "tests/report/small_case.hpp"

namespace ddpsim {
namespace {

using test::point;
using testing::ElementsAre;

// Caps of 1, 2, 4 and 8 MiB: 10, 8.03, 8 and 9 s. 8.03 s are within 0.5 % of 8 s.
SweepResult some_caps() {
  SweepResult result;
  result.axes = {"ddp.bucket_cap"};
  result.points = {point({"1MiB"}, 0x1p20, 10), point({"2MiB"}, 0x1p21, 8.03), point({"4MiB"}, 0x1p22, 8),
                   point({"8MiB"}, 0x1p23, 9)};
  return result;
}

std::vector<std::string> lines_of(const SweepResult& result) {
  return advice_lines(cap_advice(result).at(0));
}

TEST(CapAdvice, NamesTheCapsThatAreAsGoodAndWhatTheDefaultCosts) {
  auto result = some_caps();
  result.with_default.emplace(2, WithDefaultCap{Bytes(25 * 0x1p20), Bytes(0x1p20), Seconds(9)});
  EXPECT_THAT(lines_of(result), ElementsAre("caps within 0.5 % of the best: 2 MiB to 4 MiB",
                                            "PyTorch's default, 25 MiB (first 1 MiB): +1000.000 ms (+12.5 %)",
                                            "to use it: DistributedDataParallel(model, bucket_cap_mb=4)"));
}

TEST(CapAdvice, KeepsTheDefaultWhereItIsAsGood) {
  auto result = some_caps();
  result.with_default.emplace(2, WithDefaultCap{Bytes(25 * 0x1p20), std::nullopt, Seconds(8.04)});
  EXPECT_THAT(lines_of(result),
              ElementsAre("caps within 0.5 % of the best: 2 MiB to 4 MiB",
                          "PyTorch's default, 25 MiB: +40.000 ms (+0.5 %), so no bucket_cap_mb is needed",
                          "to use it: DistributedDataParallel(model)"));
}

TEST(CapAdvice, ABestAtTheEdgeSaysWhichWayToLook) {
  auto result = some_caps();
  result.points[3].metrics.iteration = Seconds(7);
  EXPECT_THAT(lines_of(result),
              ElementsAre("no other swept cap is within 0.5 % of the best",
                          "the best is the largest cap of the sweep: a larger one may be better",
                          "to use it: DistributedDataParallel(model, bucket_cap_mb=8)"));
  result.points[0].metrics.iteration = Seconds(6);
  EXPECT_EQ(cap_advice(result).at(0).edge, CapAdvice::Edge::smallest);
}

TEST(CapAdvice, NothingIsLargerThanOneBucket) {
  auto result = some_caps();
  result.points[3].metrics.iteration = Seconds(7);
  result.points[3].metrics.n_buckets = 1;
  auto advice = cap_advice(result).at(0);
  EXPECT_EQ(advice.edge, CapAdvice::Edge::none);
  EXPECT_EQ(advice.most, std::nullopt);
  EXPECT_EQ(plateau_text(advice), "8 MiB and above");
}

TEST(CapAdvice, WhereEveryAssignmentWasTriedAPlateauEndsBeforeTheNextCap) {
  auto result = some_caps();
  result.has_every_assignment = true;
  EXPECT_EQ(cap_advice(result).at(0).most, Bytes(0x1p23 - 1));
}

TEST(Verdict, OfClustersIsWhatIsBestOnEach) {
  SweepResult result;
  result.axes = {"cluster.world_size", "strategy"};
  result.points = {point({"8", "ddp"}, {}, 5),   point({"8", "fsdp"}, {}, 6), point({"16", "ddp"}, {}, 5),
                   point({"16", "fsdp"}, {}, 6), point({"32", "ddp"}, {}, 8), point({"32", "fsdp"}, {}, 7)};
  EXPECT_THAT(verdict_lines(result, false), ElementsAre("best at cluster.world_size 8, 16: strategy ddp",
                                                        "best at cluster.world_size 32: strategy fsdp"));
  result.points[4].metrics.iteration = Seconds(6);
  EXPECT_THAT(verdict_lines(result, false), ElementsAre("best everywhere: strategy ddp"));
}

TEST(Verdict, OfSizesAloneIsHowLongIterationsAre) {
  SweepResult result;
  result.axes = {"cluster.world_size"};
  result.points = {point({"8"}, {}, 5), point({"16"}, {}, 6)};
  EXPECT_THAT(verdict_lines(result, false),
              ElementsAre("iteration: 5 s (cluster.world_size 8) to 6 s (cluster.world_size 16)"));
}

}  // namespace
}  // namespace ddpsim
