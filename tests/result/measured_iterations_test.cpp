#include "sim/result/measured_iterations.hpp"

#include <gtest/gtest.h>

#include "tests/report/small_case.hpp"
#include "tests/support/errors.hpp"
#include "tests/support/temporary_folder.hpp"

namespace ddpsim::test {
namespace {

using ddpsim::testing::input_error;
using ddpsim::testing::TemporaryFolder;

std::vector<MeasuredIteration> read(const std::string& text) {
  TemporaryFolder folder;
  return read_measured_iterations(folder.write("m.csv", text));
}

TEST(MeasuredIterations, ReadsEveryColumn) {
  auto rows = read(
      "# source: a cluster\n"
      "strategy,world_size,bucket_cap_bytes,iteration_s,iteration_std_s\n"
      "ddp,8,26214400,0.84,0.01\n"
      "naive,8,,1.2,\n");
  ASSERT_EQ(rows.size(), 2u);
  EXPECT_EQ(rows[0].strategy, "ddp");
  EXPECT_EQ(rows[0].world_size, 8);
  EXPECT_EQ(rows[0].bucket_cap, Bytes(26214400));
  EXPECT_EQ(rows[0].iteration, Seconds(0.84));
  EXPECT_EQ(rows[0].spread, Seconds(0.01));
  EXPECT_FALSE(rows[1].bucket_cap);
  EXPECT_FALSE(rows[1].spread);
}

TEST(MeasuredIterations, TailsAndTheRunSet) {
  auto rows = read("# run_set: lab A, one day\niteration_s,tail_s,strategy\n1,0,ddp\n2,,naive\n");
  EXPECT_EQ(rows[0].tail, Seconds(0));
  EXPECT_EQ(rows[0].run_set, "lab A, one day");
  EXPECT_FALSE(rows[1].tail);
  EXPECT_FALSE(read("iteration_s\n1\n")[0].run_set);
}

TEST(MeasuredIterations, ReadsWholeNumbersAsPandasWritesThemBesideGaps) {
  auto rows = read("iteration_s,bucket_cap_bytes\n1,26214400.0\n2,\n");
  EXPECT_EQ(rows[0].bucket_cap, Bytes(26214400));
}

MeasuredIteration row(std::optional<std::string> strategy, std::optional<int> world,
                      std::optional<double> cap, double iteration) {
  return {
      std::move(strategy), world, cap ? std::optional(Bytes(*cap)) : std::nullopt, Seconds(iteration), {}};
}

double matched(const std::vector<MeasuredIteration>& rows, const IterationMetrics& metrics) {
  auto match = matching(rows, metrics);
  return match ? match->iteration.value() : 0;
}

TEST(MeasuredIterations, EachColumnGivenMustAgree) {
  auto metrics = point({}, 1024, 5).metrics;  // ddp, 4 ranks
  EXPECT_EQ(matched({row("ddp", 4, 1024, 1)}, metrics), 1);
  EXPECT_EQ(matched({row({}, {}, {}, 1)}, metrics), 1);
  EXPECT_EQ(matched({row("flat", 4, 1024, 1)}, metrics), 0);
  EXPECT_EQ(matched({row("ddp", 8, 1024, 1)}, metrics), 0);
  EXPECT_EQ(matched({row("ddp", 4, 1025, 1)}, metrics), 0);
}

TEST(MeasuredIterations, StrategiesWithoutCapsIgnoreThem) {
  auto metrics = point({}, std::nullopt, 5).metrics;  // naive
  EXPECT_EQ(matched({row("naive", {}, 1024, 1)}, metrics), 1);
  EXPECT_EQ(matched({row({}, {}, 1024, 1)}, metrics), 0);
}

TEST(MeasuredIterations, TheRowThatSaysMostWins) {
  auto metrics = point({}, 1024, 5).metrics;
  EXPECT_EQ(matched({row({}, {}, {}, 1), row("ddp", {}, 1024, 2), row({}, 4, {}, 3)}, metrics), 2);
}

}  // namespace
}  // namespace ddpsim::test
