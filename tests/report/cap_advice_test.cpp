#include "sim/report/cap_advice.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/report/sweep_table.hpp"
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
  return advice_lines(result, cap_advice(result).at(0));
}

TEST(CapAdvice, NamesTheCapsThatAreAsGoodAndWhatTheDefaultCosts) {
  auto result = some_caps();
  result.with_default.emplace(2, WithDefaultCap{Bytes(25 * 0x1p20), Bytes(0x1p20), Seconds(9)});
  EXPECT_EQ(
      cap_verdict(result, cap_advice(result).at(0)),
      "Worth 11 %: bucket_cap_mb=4. 8.00 s against 9.00 s with PyTorch's 25 MiB (first 1 MiB).");  // 1 - 8/9
  EXPECT_THAT(lines_of(result), ElementsAre("swept caps within 0.5 % of the best: 2 MiB, 4 MiB",
                                            "use it: DistributedDataParallel(model, bucket_cap_mb=4)"));
  result.round_caps.emplace(2, Bytes(5 * 0x1p20));
  EXPECT_EQ(lines_of(result).back(), "use it: DistributedDataParallel(model, bucket_cap_mb=5)");
}

TEST(CapAdvice, KeepsTheDefaultWhereItIsAsGood) {
  auto result = some_caps();
  result.with_default.emplace(2, WithDefaultCap{Bytes(25 * 0x1p20), std::nullopt, Seconds(8.04)});
  EXPECT_EQ(cap_verdict(result, cap_advice(result).at(0)),
            "Keep the default, 25 MiB: no cap tried gains more than 0.5 %.");
  EXPECT_THAT(lines_of(result), ElementsAre("swept caps within 0.5 % of the best: 2 MiB, 4 MiB",
                                            "use it: DistributedDataParallel(model)"));
}

// The default loses more than the plateau, but maybe it does not: it wins.
TEST(CapAdvice, KeepsTheDefaultWhereItIsNotToldApart) {
  auto result = some_caps();
  WithDefaultCap usual{Bytes(25 * 0x1p20), std::nullopt, Seconds(8.08), Odds{0.38, 0.011, true}};
  result.with_default.emplace(2, usual);
  EXPECT_EQ(cap_verdict(result, cap_advice(result).at(0)),
            "Keep the default, 25 MiB: it is not told apart from bucket_cap_mb=4, which gains 1.0 %.");
  EXPECT_THAT(lines_of(result),
              ElementsAre("PyTorch's default: 62 % sure that it takes longer, 1.1 % on average",
                          "swept caps within 0.5 % of the best: 2 MiB, 4 MiB",
                          "use it: DistributedDataParallel(model)"));
  result.with_default.at(2).odds = Odds{0.02, 0.011, false};
  EXPECT_THAT(cap_verdict(result, cap_advice(result).at(0)),
              testing::StartsWith("Worth 1.0 %: bucket_cap_mb=4."));
  EXPECT_FALSE(cap_advice(result).at(0).default_is_as_good());
}

TEST(CapAdvice, ABestAtTheEdgeSaysWhichWayToLook) {
  auto result = some_caps();
  result.points[3].metrics.iteration = Seconds(7);
  EXPECT_THAT(lines_of(result),
              ElementsAre("no other swept cap is within 0.5 % of the best",
                          "the best is the largest cap of the sweep: a larger one may be better",
                          "use it: DistributedDataParallel(model, bucket_cap_mb=8)"));
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
  EXPECT_EQ(lines_of(result).front(), "caps within 0.5 % of the best: 2 MiB to 8 MiB");
}

// Nothing is said of what lies between: the cap of 4 MiB is longer than those of 2 and 8.
TEST(CapAdvice, SpeaksOfTheCapsThatWereTried) {
  auto result = some_caps();
  std::swap(result.points[2].metrics.iteration, result.points[3].metrics.iteration);
  EXPECT_EQ(lines_of(result).front(), "swept caps within 0.5 % of the best: 2 MiB, 8 MiB");
  result = {};
  result.axes = {"ddp.bucket_cap"};
  for (int mib = 1; mib <= 40; ++mib)
    result.points.push_back(point({std::to_string(mib) + "MiB"}, mib * 0x1p20, mib < 11 ? 10 : 8));
  EXPECT_EQ(lines_of(result).front(), "swept caps within 0.5 % of the best: 30 of 40 from 11 MiB to 40 MiB");
}

TEST(Verdict, OfClustersIsWhatIsBestOnEach) {
  SweepResult result;
  result.axes = {"cluster.world_size", "strategy"};
  result.points = {point({"8", "ddp"}, {}, 5),   point({"8", "fsdp"}, {}, 6), point({"16", "ddp"}, {}, 5),
                   point({"16", "fsdp"}, {}, 6), point({"32", "ddp"}, {}, 8), point({"32", "fsdp"}, {}, 7)};
  EXPECT_THAT(verdict_lines(result), ElementsAre("best at cluster.world_size 8, 16: strategy ddp",
                                                 "best at cluster.world_size 32: strategy fsdp"));
  result.points[4].metrics.iteration = Seconds(6);
  EXPECT_THAT(verdict_lines(result), ElementsAre("best everywhere: strategy ddp, by 16.7 to 20.0 %"));
}

// What draws do not tell apart: the default cap wins against other caps, not against another algorithm with
// one.
TEST(Verdict, TheDefaultWinsTiesOnlyWhereAllElseIsEqual) {
  SweepResult result;
  result.axes = {"collective.nccl.algorithm", "ddp.bucket_cap"};
  result.points = {point({"auto", "25MiB"}, 25 * 0x1p20, 9), point({"auto", "800MiB"}, 800 * 0x1p20, 8),
                   point({"ring", "25MiB"}, 25 * 0x1p20, 9)};
  for (auto& one : result.points) one.odds = Odds{0.3, 0.05, true};
  result.points[1].odds->regret = 0.01;
  result.points[0].odds->is_tied = false;
  EXPECT_EQ(result.best(), 1U);
  result.points[0].odds->is_tied = true;
  EXPECT_EQ(result.best(), 0U);
}

// On bare links Gloo pays for no host.
TEST(Verdict, ComparesNoBackendsWithoutHosts) {
  SweepResult result;
  result.axes = {"collective.backend"};
  result.points = {point({"nccl"}, {}, 6), point({"gloo"}, {}, 5)};
  EXPECT_EQ(verdict_lines(result).front(),
            "best: collective.backend gloo, 5.00 s, 16.7 % shorter than the longest");
  result.notes = {{std::string(kGlooWithoutHosts), "..."}};
  EXPECT_THAT(verdict_lines(result),
              ElementsAre("iteration: 5 s (collective.backend gloo) to 6 s (collective.backend nccl)"));
  EXPECT_FALSE(result.compares_choices());
}

std::vector<std::string> memory_of(const SweepResult& result) {
  for (const auto& column : text_of(sweep_table(result, true)).columns)
    if (column.title == "GB") return column.cells;
  return {};
}

// A step close to its GPU's memory may fit: the words are those of `ddpsim memory`.
TEST(Verdict, OfWhatMayFitSaysSo) {
  SweepResult result;
  result.axes = {"strategy"};
  result.points = {point({"ddp"}, {}, 5), point({"fsdp"}, {}, 6)};
  for (auto& one : result.points) one.metrics.memory = MemoryMetrics{{}, Bytes(100e9), "GPU"};
  result.points[0].metrics.memory->parts.other = Bytes(97e9);
  EXPECT_EQ(verdict_lines(result).at(1), "(faster, but may not fit into a GPU's memory: strategy ddp, 5 s)");
  EXPECT_EQ(memory_of(result).at(0), "? 97.0");
  result.points[1].metrics.memory->parts.other = Bytes(101e9);
  EXPECT_EQ(verdict_lines(result).at(1),
            "none of the points surely fits into a GPU's memory: 'ddpsim memory' says what would");
  EXPECT_EQ(memory_of(result).at(1), "! 101");
}

TEST(Verdict, OfSizesAloneIsHowLongIterationsAre) {
  SweepResult result;
  result.axes = {"cluster.world_size"};
  result.points = {point({"8"}, {}, 5), point({"16"}, {}, 6)};
  EXPECT_THAT(verdict_lines(result),
              ElementsAre("iteration: 5 s (cluster.world_size 8) to 6 s (cluster.world_size 16)"));
}

}  // namespace
}  // namespace ddpsim
