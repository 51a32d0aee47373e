#include "sim/report/console.hpp"

#include <sstream>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/report/sweep_table.hpp"

#include "tests/report/small_case.hpp"

namespace ddpsim::test {
namespace {

using testing::StartsWith;

std::string printed(const IterationMetrics& metrics, std::size_t most = 64) {
  std::ostringstream out;
  print_iteration(out, metrics, most);
  return out.str();
}

// 1 s of the 3 s in flight is hidden: bucket 0 runs beside backward, bucket 1 after it.
TEST(Console, Iteration) {
  EXPECT_EQ(printed(measure_small({{plain_rank()}})),
            R"(iteration                    5500.000 ms  100.0 %
  forward                    1000.000 ms   18.2 %
  backward                   2000.000 ms   36.4 %
  exposed communication      2000.000 ms   36.4 %
  optimizer                   500.000 ms    9.1 %
communication                3000.000 ms, 33.3 % of it hidden behind compute
  costs the iteration        2000.000 ms   36.4 %
bandwidth                algbw 1 kB/s, busbw 1.5 kB/s
throughput               2.909 samples/s, scaling efficiency 63.6 %
reduction                strategy ddp, 2 buckets, bucket cap 1 KiB
model                    4 ranks, algorithm ring, fidelity exact, network simgrid (7 flows); terms of rank 0

times in ms from the start of the backward pass
bucket        MiB gradients       ready       start         end      queued   in flight
     0     0.0010         1    1000.000    1000.000    2000.000       0.000    1000.000
     1     0.0019         1    2000.000    2000.000    4000.000       0.000    2000.000
)");
}

TEST(Console, OfManyBucketsTheFirstAndTheLast) {
  auto metrics = measure_small({{plain_rank()}});
  metrics.buckets.assign(10, metrics.buckets[0]);
  for (std::size_t i = 0; i < 10; ++i) metrics.buckets[i].index = i;
  auto text = printed(metrics, 4);
  EXPECT_NE(text.find("\n     1 "), std::string::npos);
  EXPECT_NE(text.find("   ... 6 more; --buckets prints all\n     8 "), std::string::npos);
  EXPECT_EQ(text.find("\n     2 "), std::string::npos);
}

TEST(Console, SweepTable) {
  SweepResult result;
  result.axes = {"ddp.bucket_cap", "cluster.world_size"};
  result.points = {point({"1KiB", "4"}, 1024, 5.5), point({"2KiB", "4"}, 2048, 5),
                   point({"1KiB", "1024"}, 1024, 7)};
  result.points[1].measured = MeasuredIteration{{}, {}, {}, Seconds(4), {}};
  std::ostringstream out;
  SweepTable table(out, {{"ddp.bucket_cap", {"1KiB", "2KiB"}}, {"cluster.world_size", {"4", "1024"}}},
                   {.measured = true});
  table.header();
  for (const auto& p : result.points) table.row(p);
  table.footer(result);
  EXPECT_EQ(
      out.str(),
      R"(bucket_cap  world_size  iteration ms    exposed ms      comm. ms  buckets   samples/s  efficiency   measured ms     error
     1 KiB           4      5500.000      2000.000      3000.000        2      2.9091      63.6 %             -         -
     2 KiB           4      5000.000      1500.000      3000.000        2      2.9091      63.6 %      4000.000   +25.0 %
     1 KiB        1024      7000.000      3500.000      3000.000        2      2.9091      63.6 %             -         -

best of each group
bucket_cap  world_size  iteration ms    exposed ms      comm. ms  buckets   samples/s  efficiency   measured ms     error
     2 KiB           4      5000.000      1500.000      3000.000        2      2.9091      63.6 %      4000.000   +25.0 %
     1 KiB        1024      7000.000      3500.000      3000.000        2      2.9091      63.6 %             -         -

what to pass to DistributedDataParallel
cluster.world_size  bucket_cap_mb  iteration ms   swept caps within 0.5 %  PyTorch's default  iteration ms  longer
                 4       0.001954      5000.000  2 KiB, the largest swept                  -             -       -
              1024       0.000977      7000.000                     1 KiB                  -             -       -
)");
}

// A world size is given, not chosen: the best of all would be the smallest cluster. A cap that a range wrote
// stands in bytes, to be typed back.
TEST(Console, TheBestOfAllOnlyAmongChoices) {
  SweepResult result;
  result.axes = {"ddp.bucket_cap"};
  result.points = {point({"1536B"}, 1536, 5), point({"2KiB"}, 2048, 8)};
  auto footer = [&] {
    std::ostringstream out;
    SweepTable(out, {{result.axes[0], {}}}, {}).footer(result);
    return out.str();
  };
  EXPECT_THAT(
      footer(),
      StartsWith("\nbest: ddp.bucket_cap 1536B (1.5 KiB), iteration 5 s, 37.5 % shorter than the longest\n"));
  result.axes = {"cluster.world_size"};
  EXPECT_EQ(footer().find("best:"), std::string::npos);
}

TEST(Console, SweepOfOneGroup) {
  SweepResult result;
  result.axes = {"strategy"};
  result.points = {point({"naive"}, std::nullopt, 8), point({"ddp"}, 1024, 5)};
  std::ostringstream out;
  SweepTable(out, {{"strategy", {"naive", "ddp"}}}, {}).footer(result);
  EXPECT_EQ(out.str(), "\nbest: strategy ddp, iteration 5 s, 37.5 % shorter than the longest\n");  // 1 - 5/8
}

TEST(Console, AxesThatEndAlikeKeepTheirWholeKeys) {
  std::ostringstream out;
  SweepTable(out, {{"a.kind", {"x"}}, {"b.kind", {"y"}}}, {}).header();
  EXPECT_EQ(out.str().substr(0, 16), "a.kind  b.kind  ");
}

}  // namespace
}  // namespace ddpsim::test
