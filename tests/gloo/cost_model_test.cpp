// What Gloo's collectives take: the formula by hand, and against published times.
#include "sim/gloo/cost_model.hpp"

#include <cmath>
#include <string>
#include <vector>

#include <gtest/gtest.h>

#include "sim/base/csv.hpp"
#include "sim/base/quantity.hpp"

namespace ddpsim::gloo {
namespace {

using namespace ddpsim::literals;

// Buffers of 100 MB: nothing fits into the cache of 1 B, and additions cost next to nothing.
constexpr Bytes kBuffer(100e6);
constexpr Bytes kNothing(1);
Host plain_host() {
  return {.process_bandwidth = 1_GBps,
          .cached_bandwidth = 4_GBps,
          .cache = kNothing,
          .machine_bandwidth = std::nullopt,
          .reduction_bandwidth = BytesPerSecond(1e18),
          .step_latency = 1_ms};
}

double milliseconds(const Host& host, const Group& group, Bytes bytes = kBuffer) {
  return 1e3 * CostModel(host, group).all_reduce(bytes).value();
}

// 4 ranks: 6 steps of 1 ms, and 2 x 3/4 of 100 MB at 1 GB/s are 150 ms.
TEST(GlooAllReduce, StepsAndBytes) {
  EXPECT_NEAR(milliseconds(plain_host(), {4, 4, {}, {}, {}}), 156, 1e-4);
  EXPECT_NEAR(milliseconds(plain_host(), {4, 4, {}, {}, {}}, Bytes(0)), 6, 1e-12);
}

// 3/4 of 100 MB added up at 3 GB/s: 25 ms more.
TEST(GlooAllReduce, Additions) {
  auto host = plain_host();
  host.reduction_bandwidth = 3_GBps;
  EXPECT_NEAR(milliseconds(host, {4, 4, {}, {}, {}}), 181, 1e-4);
}

// 100 MB to the host and back at 10 GB/s each: 20 ms more.
TEST(GlooAllReduce, Copies) {
  EXPECT_NEAR(milliseconds(plain_host(), {4, 4, {}, {}, 10_GBps}), 176, 1e-4);
}

// Four processes that send 150 MB each, at 2 GB/s together: 300 ms. With 2 on each of two machines 150 ms,
// which is what each process takes by itself.
TEST(GlooAllReduce, TheMachineBoundsItsProcesses) {
  auto host = plain_host();
  host.machine_bandwidth = 2_GBps;
  EXPECT_NEAR(milliseconds(host, {4, 4, {}, {}, {}}), 306, 1e-4);
  EXPECT_NEAR(milliseconds(host, {4, 2, 10_GBps, {}, {}}), 156, 1e-4);
}

// 150 MB over 0.5 GB/s: 300 ms. Each step waits for the network's 2 ms as well.
TEST(GlooAllReduce, TheNetworkBoundsAll) {
  EXPECT_NEAR(milliseconds(plain_host(), {4, 2, BytesPerSecond(0.5e9), 2_ms, {}}), 318, 1e-4);
}

// Two buffers of 100 MB, and a cache of 50 MB: a quarter of the 100 MB goes at 4 GB/s. Of 25 MB all does.
TEST(GlooAllReduce, WhatFitsIntoTheCacheIsFaster) {
  auto host = plain_host();
  host.cache = Bytes(50e6);
  EXPECT_NEAR(milliseconds(host, {2, 2, {}, {}, {}}), 2 + 25 / 4.0 + 75, 1e-4);
  EXPECT_NEAR(milliseconds(host, {2, 2, {}, {}, {}}, Bytes(25e6)), 2 + 25 / 4.0, 1e-4);
}

// Of 5 ranks 3 rounds of 1 ms, each all of 100 MB at 1 GB/s: 303 ms, and 20 ms of copies. On a machine
// that sends 1 GB/s in all, one of 4 sends in the first round and two in the second: 100 and 200 ms.
TEST(GlooBroadcast, RoundsOfABinomialTree) {
  auto of = [](const Host& host, const Group& group) {
    return 1e3 * CostModel(host, group).broadcast(kBuffer).value();
  };
  EXPECT_NEAR(of(plain_host(), {5, 5, {}, {}, 10_GBps}), 323, 1e-4);
  EXPECT_NEAR(of(plain_host(), {2, 1, BytesPerSecond(0.5e9), 1_ms, {}}), 202, 1e-4);
  auto host = plain_host();
  host.machine_bandwidth = 1_GBps;
  EXPECT_NEAR(of(host, {4, 4, {}, {}, {}}), 302, 1e-4);
  EXPECT_NEAR(CostModel(host, {4, 4, {}, {}, {}}).broadcast(Bytes(0)).value(), 0.002, 1e-12);
}

TEST(GlooAllReduce, MoreBytesAndMoreRanksNeverTakeLess) {
  double before = 0;
  for (double bytes = 1; bytes < 1e10; bytes *= 1.1) {
    double time = milliseconds(usual_host(), {8, 8, {}, {}, 24_GBps}, Bytes(bytes));
    EXPECT_GT(time, before) << bytes;
    before = time;
  }
  for (int ranks = 2; ranks < 64; ++ranks)
    EXPECT_LT(milliseconds(usual_host(), {ranks, ranks, {}, {}, {}}),
              milliseconds(usual_host(), {ranks + 1, ranks + 1, {}, {}, {}}));
}

struct Row {
  int ranks;
  Bytes bytes;
  double seconds;
};

std::vector<Row> rows_of(const std::string& name) {
  auto table = read_csv(DDPSIM_SOURCE_DIR "/measurements/gloo/" + name, "measured times");
  auto ranks = table.column("ranks"), bytes = table.column("bytes"), time = table.column("time_s");
  std::vector<Row> rows;
  for (const auto& row : table.rows)
    rows.push_back({static_cast<int>(parse_integer(row[ranks], 2, 64)),
                    Bytes(parse_number(row[bytes], 1, 1e12)), parse_number(row[time], 0, 1e3)});
  return rows;
}

double error_of(const Host& host, const Row& row) {
  Group group{row.ranks, row.ranks, {}, {}, {}};
  return CostModel(host, group).all_reduce(row.bytes).value() / row.seconds - 1;
}

// Fitted to 2 processes only. The worst rows: +39 % of 4 processes and 1 MiB, -24 % of 6 and 100 MiB
// (measurements/gloo/README.md has all of them).
TEST(GlooAllReduce, OnTheServerItWasFittedTo) {
  auto rows = rows_of("h20_host.csv");
  ASSERT_EQ(rows.size(), 12U);
  for (const auto& row : rows) {
    double error = error_of(usual_host(), row);
    EXPECT_LT(error, row.bytes < 2_MiB ? 0.40 : row.ranks == 2 ? 0.06 : 0.03) << row.bytes.value();
    EXPECT_GT(error, row.ranks == 2 ? -0.12 : -0.25) << row.ranks << ' ' << row.bytes.value();
  }
}

// Two numbers fitted to 2 and 6 processes from 100 MB on; its caches are not known. The worst: -50 % of 2
// processes and 1 MB; from 10 MB on -19 %.
TEST(GlooAllReduce, OnALaptop) {
  auto host = usual_host();
  host.process_bandwidth = host.cached_bandwidth = BytesPerSecond(1.16e9);
  host.machine_bandwidth = BytesPerSecond(2.61e9);
  auto rows = rows_of("macbook_cs336.csv");
  ASSERT_EQ(rows.size(), 12U);
  for (const auto& row : rows) {
    double error = error_of(host, row);
    EXPECT_LT(error, 0.12) << row.bytes.value();
    EXPECT_GT(error, row.bytes < Bytes(2e6) ? -0.51 : -0.20) << row.bytes.value();
  }
}

}  // namespace
}  // namespace ddpsim::gloo
