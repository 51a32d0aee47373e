#include "validate/comparison/calibration.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/collective/measured_cost.hpp"

#include "tests/support/temporary_folder.hpp"

namespace ddpsim::validate {
namespace {

using ::testing::Each;
using ::testing::ElementsAre;

constexpr double kKi = 1024, kMi = 1048576;

std::vector<double> sizes_for(const std::vector<double>& buckets) {
  std::vector<Message> wanted;
  for (double size : buckets) wanted.push_back({Operation::all_reduce, Bytes(size)});
  std::vector<double> sizes;
  for (const auto& [operation, bytes] : calibration_messages(wanted)) {
    EXPECT_EQ(operation, Operation::all_reduce);
    sizes.push_back(bytes.value());
  }
  return sizes;
}

// 1024, 2048; 4096 is the bucket: 3 % more is 4218.9, so 4220.
TEST(CalibrationSizes, OfOneBucket) {
  EXPECT_THAT(sizes_for({4096}), ElementsAre(1024, 2048, 4220));
}

// Below a bucket of 1 KiB: 0.97 x 1024 = 993.3, so 992; x 2 = 1984.
TEST(CalibrationSizes, BelowASmallBucket) {
  EXPECT_THAT(sizes_for({1024}), ElementsAre(992, 1984));
}

TEST(CalibrationSizes, InAnyOrder) {
  EXPECT_EQ(sizes_for({2 * kMi, kKi, 3 * kKi, kKi}), sizes_for({kKi, 3 * kKi, 2 * kMi}));
}

// What one operation carries says nothing of another's.
TEST(CalibrationSizes, OfEachOperation) {
  auto messages = calibration_messages({{Operation::reduce_scatter, Bytes(1024)},
                                        {Operation::all_gather, Bytes(4096)},
                                        {Operation::reduce_scatter, Bytes(1024)}});
  std::vector<std::string> found;
  for (const auto& [operation, bytes] : messages)
    found.push_back(fmt::format("{} {}", operation_name(operation), bytes.value()));
  EXPECT_THAT(found, ElementsAre("all_gather 1024", "all_gather 2048", "all_gather 4220",
                                 "reduce_scatter 992", "reduce_scatter 1984"));
  EXPECT_EQ(
      describe(messages),
      "all-gathers of 3 sizes from 1 KiB to 4.121 KiB, reduce-scatters of 2 sizes from 992 B to 1.938 KiB");
}

TEST(CalibrationSizes, CoverEveryBucketAndMeetNone) {
  std::vector<double> dense;
  for (double size = kMi; size < 4 * kMi; size *= 1.01) dense.push_back(4 * std::round(size / 4));
  const std::vector<std::vector<double>> cases{
      {8},           {6, 10},        {60},  {100, 101, 103},          {1000, 1040, 1060}, {1446, 1490, 1535},
      {25 * kMi, 1}, {2 * kMi, 1e9}, dense, {1024, 2048, 4096, 8192}, {154389504}};
  for (const auto& buckets : cases) {
    auto sizes = sizes_for(buckets);
    auto [smallest, largest] = std::minmax_element(buckets.begin(), buckets.end());
    SCOPED_TRACE(::testing::PrintToString(buckets));
    EXPECT_LT(sizes.front(), std::max(*smallest, 4.5));
    EXPECT_GT(sizes.back(), *largest);
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      EXPECT_EQ(std::fmod(sizes[i], 4), 0) << sizes[i];
      if (i > 0) {
        EXPECT_LT(sizes[i - 1], sizes[i]);
      }
      for (double bucket : buckets) EXPECT_GE(std::abs(bucket / sizes[i] - 1), 0.02) << sizes[i];
    }
  }
}

// A bucket of four bytes is the smallest there is.
TEST(CalibrationSizes, OfFourBytes) {
  EXPECT_THAT(sizes_for({4}), ElementsAre(8));
}

// Neighbours are at most a factor of two apart, but for rounding and the buckets that were avoided.
TEST(CalibrationSizes, AreClose) {
  auto sizes = sizes_for({64 * kMi, 5000});
  for (std::size_t i = 1; i < sizes.size(); ++i) EXPECT_LT(sizes[i] / sizes[i - 1], 2.08) << sizes[i];
}

const std::vector<Message> kMessages{{Operation::all_reduce, Bytes(65532)},
                                     {Operation::all_reduce, Bytes(65536)},
                                     {Operation::all_reduce, Bytes(2 * kMi)},
                                     {Operation::reduce_scatter, Bytes(32 * kMi)},
                                     {Operation::reduce_scatter, Bytes(32 * kMi + 4)}};

// Of three ranks; of what is scattered each has as many elements: 3 x 2796203, which are 33554436 B.
TEST(CalibrationSteps, OneAloneAndSeveralAtOnce) {
  auto steps = calibration_steps(kMessages, 3, {4, 5, 30, 0.005, Seconds(60)});
  std::vector<std::size_t> lengths;
  for (const auto& step : steps) {
    lengths.push_back(step.ranges.size());
    EXPECT_EQ(step.program.ops.size(), step.ranges.size());
    EXPECT_FALSE(step.verify);
    EXPECT_EQ(step.sampling.warm_up, 4);
  }
  EXPECT_THAT(lengths, ElementsAre(1, 32, 1, 16, 1, 5, 1, 5, 1));
  for (std::size_t i = 0; i < steps.size(); ++i)
    for (const auto& range : steps[i].ranges) EXPECT_EQ(range, (Range{0, steps[i].ranges[0].count}));
  EXPECT_EQ(steps[0].ranges[0].bytes(), Bytes(65532));
  EXPECT_EQ(steps[1].ranges[0].bytes(), Bytes(65532));
  EXPECT_EQ(steps[6].ranges[0].count, 8388609U);
  EXPECT_EQ(steps[8].ranges[0].count, 8388609U);
  EXPECT_EQ(steps[7].collectives().back()->operation, Operation::reduce_scatter);
  EXPECT_EQ(steps[2].name, "all-reduce of 64 KiB");
  EXPECT_EQ(steps[3].name, "16 queued, each all-reduce of 64 KiB");
}

StepSamples samples(const std::vector<double>& totals) {
  StepSamples one;
  for (double total : totals) one.totals.emplace_back(total);
  return one;
}

// Alone 2 s in the middle (1, 3, 2: a deviation of 1 s); queued (64 - 2) / 31 = 2 s, (32 - 2) / 15 = 2 s,
// (4 - 2) / 4 = 0.5 s; of five that take 1.5 s, less than one, nothing is known.
TEST(MeasuredCollectives, FromARun) {
  RunResult result;
  auto alone = samples({1, 3, 2});
  result.steps = {alone, samples({100, 64, 3}), alone,       samples({32}), samples({2}), samples({4}),
                  alone, samples({1.5}),        samples({7})};
  auto measured = measured_collectives(result, kMessages);
  ASSERT_EQ(measured.size(), 5U);
  EXPECT_EQ(measured[0].message.bytes, Bytes(65532));
  EXPECT_EQ(measured[0].time, Seconds(2));
  EXPECT_EQ(measured[0].spread, Seconds(1));
  EXPECT_EQ(measured[0].queued, Seconds(2));
  EXPECT_EQ(measured[1].queued, Seconds(2));
  EXPECT_EQ(measured[2].queued, Seconds(0.5));
  EXPECT_EQ(measured[2].spread, std::nullopt);
  EXPECT_EQ(measured[3].time, Seconds(2));
  EXPECT_EQ(measured[3].queued, std::nullopt);
  EXPECT_EQ(measured[4].message.bytes, Bytes(32 * kMi + 4));
  EXPECT_EQ(measured[4].time, Seconds(7));
  EXPECT_EQ(measured[4].queued, std::nullopt);
}

// 1000 B in 2 s; of 8 ranks 2 x 7 / 8 of it goes over each link.
TEST(MeasuredCollectives, Bandwidths) {
  MeasuredCollective one{{Operation::all_reduce, Bytes(1000)}, Seconds(2), {}, {}};
  EXPECT_EQ(one.algbw(), BytesPerSecond(500));
  EXPECT_EQ(one.busbw(8), BytesPerSecond(875));
  one.message.operation = Operation::all_gather;
  EXPECT_EQ(one.busbw(8), BytesPerSecond(437.5));
}

const std::vector<MeasuredCollective> kMeasured{
    {{Operation::all_reduce, Bytes(1024)}, Seconds(0.001), Seconds(1.5e-5), Seconds(0.0007)},
    {{Operation::all_reduce, Bytes(2048)}, Seconds(0.002), {}, {}},
    {{Operation::all_gather, Bytes(1e9)}, Seconds(0.1 + 0.2), Seconds(0.01), Seconds(1.0 / 3)}};

TEST(CollectiveTable, Text) {
  EXPECT_EQ(collective_table(kMeasured, 8, Backend::gloo, "a test"),
            "# ddpsim-allreduce: 1\n"
            "# world_size: 8\n"
            "# source: a test\n"
            "# backend: gloo\n"
            "operation,bytes,time_s,std_s,queued_s\n"
            "all_reduce,1024,0.001,1.5e-05,0.0007\n"
            "all_reduce,2048,0.002,0,\n"
            "all_gather,1000000000,0.30000000000000004,0.01,0.3333333333333333\n");
}

TEST(CollectiveTable, IsReadBack) {
  ddpsim::testing::TemporaryFolder folder;
  auto table = read_measured_table(folder.write(
      "table.csv", collective_table(kMeasured, 8, Backend::nccl, "ddpsim validate: gloo, 8 ranks")));
  EXPECT_EQ(table.world_size, 8);
  EXPECT_EQ(table.backend, Backend::nccl);
  for (const auto& one : kMeasured)
    EXPECT_EQ(table.of(one.message.operation).cost(one.message.bytes), one.time);
  const auto& queued = table.of(Operation::all_reduce).queued;
  ASSERT_TRUE(queued);
  EXPECT_EQ(queued->points().size(), 1U);
  EXPECT_EQ((*queued)(Bytes(1024)), Seconds(0.0007));
  EXPECT_EQ(table.of(Operation::all_gather).time(Bytes(1e9), true), Seconds(1.0 / 3));
}

// 40 B in chunks of 16 B and, as 10 B are no whole elements, 12 B.
TEST(ChunkSteps, ATotalInChunks) {
  auto steps = chunk_steps(Bytes(40), {Bytes(16), Bytes(10), Bytes(100)}, {});
  ASSERT_EQ(steps.size(), 3U);
  EXPECT_EQ(steps[0].name, "40 B in chunks of 16 B");
  std::vector<std::vector<Range>> ranges;
  for (const auto& step : steps) {
    EXPECT_EQ(step.program.ops.size(), step.ranges.size());
    ranges.push_back(step.ranges);
  }
  EXPECT_THAT(ranges[0], ElementsAre(Range{0, 4}, Range{4, 4}, Range{8, 2}));
  EXPECT_THAT(ranges[1], ElementsAre(Range{0, 3}, Range{3, 3}, Range{6, 3}, Range{9, 1}));
  EXPECT_THAT(ranges[2], ElementsAre(Range{0, 10}));
}

}  // namespace
}  // namespace ddpsim::validate
