#include "sim/report/console.hpp"

#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/report/sweep_table.hpp"

#include "tests/report/small_case.hpp"

namespace ddpsim::test {
namespace {

using testing::EndsWith;
using testing::StartsWith;

std::string printed(const IterationMetrics& metrics, std::size_t most = 64) {
  std::ostringstream out;
  print_iteration(out, {80}, metrics, most);
  return out.str();
}

// 1 s of the 3 s in flight is hidden: bucket 0 runs beside backward, bucket 1 after it.
TEST(Console, Iteration) {
  EXPECT_EQ(printed(measure_small({{plain_rank()}})),
            R"(  forward                    1.000 s    18.2 %  ████████████████
  backward                   2.000 s    36.4 %  ███████████████████████████████
  exposed communication      2.000 s    36.4 %  ███████████████████████████████
  optimizer                  0.500 s     9.1 %  ████████

5.50 s a step; 2.91 samples/s.
Communication takes 3.00 s, 33.3 % of it behind compute; it costs 36.4 % of the
step.
bandwidth                algbw 1 kB/s, busbw 1.5 kB/s
throughput               2.909 samples/s, scaling efficiency 63.6 %
reduction                strategy ddp, 2 buckets, bucket cap 1 KiB
model                    4 ranks, algorithm ring, fidelity exact, network
                         simgrid (7 flows); terms of rank 0

buckets, times from the start of the backward pass
bucket  size KiB  gradients  ready s  start s  end s  queued us  in flight s
     0     0.977          1    1.000    1.000   2.00          0        1.000
     1     1.953          1    2.000    2.000   4.00          0        2.000
)");
}

TEST(Console, OfManyBucketsTheFirstAndTheLast) {
  auto metrics = measure_small({{plain_rank()}});
  metrics.buckets.assign(10, metrics.buckets[0]);
  for (std::size_t i = 0; i < 10; ++i) metrics.buckets[i].index = i;
  auto text = printed(metrics, 4);
  EXPECT_NE(text.find("\n     1 "), std::string::npos);
  EXPECT_NE(text.find("\n\n     8 "), std::string::npos);
  EXPECT_NE(text.find("6 more between them; --buckets prints all\n"), std::string::npos);
  EXPECT_EQ(text.find("\n     2 "), std::string::npos);
}

std::string swept(const SweepResult& result, TableStyle style = TableStyle::text) {
  std::ostringstream out;
  print_sweep(out, {80}, result, style);
  return out.str();
}

// The best of each size is marked, and what is within half a percent of it; the measured point has an error.
TEST(Console, SweepOfTwoSizes) {
  SweepResult result;
  result.axes = {"cluster.world_size", "ddp.bucket_cap"};
  result.points = {point({"4", "1KiB"}, 1024, 5.5), point({"4", "2KiB"}, 2048, 5),
                   point({"4", "4KiB"}, 4096, 5.02), point({"1024", "1KiB"}, 1024, 7),
                   point({"1024", "2KiB"}, 2048, 8)};
  result.points[1].measured = MeasuredIteration{{}, {}, {}, Seconds(4), {}};
  EXPECT_EQ(swept(result), R"(  GPUs  bucket_cap  step s  vs best %  of ideal %  waits s  measured s  error %
     4       1 KiB    5.50      +10.0        63.6    2.000
▶    4       2 KiB    5.00                   63.6    1.500        4.00    +25.0
≈    4       4 KiB    5.02       +0.4        63.6    1.520

▶ 1024       1 KiB    7.00                   63.6    3.500
  1024       2 KiB    8.00      +14.3        63.6    4.500
not shown at 80 columns: comm., buckets, samples/s (--csv - has all)

what to pass to DistributedDataParallel
GPUs  bucket_cap_mb  step s  swept caps within 0.5 %
   4       0.001954    5.00  2 KiB, 4 KiB
1024       0.000977    7.00  1 KiB, the smallest swept

cluster.world_size = 4: Fastest: bucket_cap_mb=0.001954, 5.00 s.
cluster.world_size = 1024: Fastest: bucket_cap_mb=0.000977, 7.00 s.
)");
}

// Caps that make the same buckets are one row, the default has its own; a round number makes the best's.
TEST(Console, SweepOfCaps) {
  SweepResult result;
  result.axes = {"ddp.bucket_cap"};
  result.points = {point({"1MiB"}, 0x1p20, 10), point({"2MiB"}, 0x1p21, 10),
                   point({"50MiB"}, 50 * 0x1p20, 8)};
  result.with_default.emplace(2, WithDefaultCap{Bytes(25 * 0x1p20), std::nullopt, Seconds(9)});
  result.round_caps.emplace(2, Bytes(100 * 0x1p20));
  EXPECT_EQ(swept(result), R"(       bucket_cap  step s  vs best %  of ideal %  waits s  comm. s  buckets
          1–2 MiB   10.00      +25.0        63.6     6.50     3.00        2
  default, 25 MiB    9.00      +12.5
▶          50 MiB    8.00                   63.6     4.50     3.00        2
not shown at 80 columns: samples/s (--csv - has all)

Worth 11 %: bucket_cap_mb=100. 8.00 s against 9.00 s with PyTorch's 25 MiB.
no other swept cap is within 0.5 % of the best
the best is the largest cap of the sweep: a larger one may be better
use it: DistributedDataParallel(model, bucket_cap_mb=100)
)");
}

// A world size is given, not chosen: the best of all would be the smallest cluster.
TEST(Console, TheBestOfAllOnlyAmongChoices) {
  SweepResult result;
  result.axes = {"cluster.world_size"};
  result.points = {point({"8"}, std::nullopt, 5), point({"16"}, std::nullopt, 8)};
  auto text = swept(result);
  EXPECT_EQ(text.find("best"), std::string::npos);
  EXPECT_EQ(text.find("▶"), std::string::npos);
}

TEST(Console, SweepOfOneGroup) {
  SweepResult result;
  result.axes = {"strategy"};
  result.points = {point({"naive"}, std::nullopt, 8), point({"ddp"}, 1024, 5)};
  EXPECT_THAT(swept(result),
              EndsWith("\nbest: strategy ddp, 5.00 s, 37.5 % shorter than the longest\n"));  // 1 - 5/8
}

TEST(Console, AxesThatEndAlikeKeepTheirWholeKeys) {
  SweepResult result;
  result.axes = {"a.kind", "b.kind"};
  result.points = {point({"x", "y"}, std::nullopt, 8)};
  EXPECT_THAT(swept(result), StartsWith("a.kind  b.kind  "));
}

}  // namespace
}  // namespace ddpsim::test
