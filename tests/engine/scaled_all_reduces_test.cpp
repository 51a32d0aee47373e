// All-reduces of less latency or more bandwidth, where no links say what they take.
#include "sim/engine/scaled_all_reduces.hpp"

#include <gtest/gtest.h>

#include "tests/engine/nccl_scenarios.hpp"

namespace ddpsim::testing {
namespace {

constexpr Bytes kOneMB(1e6), kTwoMB(2e6);

// 1 ms and 4 ms a MB; after another one half of the first. Two messages, of 1 MB and 2 MB.
Scenario of_a_table() {
  auto scenario = base_scenario(make_trace({1, 2}, {1, 2}), Reducer::ddp, cap(kOneMB), 2);
  auto line = [](double at_once) {
    std::vector<MeasuredPoint> points;
    for (double megabytes : {1.0, 3.0}) {
      Seconds time(1e-3 * (at_once + 4 * megabytes));
      points.push_back({Bytes(1e6 * megabytes), time, time});
    }
    return MeasuredCost(points);
  };
  scenario.measured_table = std::make_shared<const MeasuredTable>(
      MeasuredTable{{{Operation::all_reduce, {line(1), line(0.5)}}}, 2});
  return scenario;
}

std::vector<double> milliseconds(const Scenario& scenario) {
  std::vector<double> all;
  for (Bytes bytes : {kOneMB, kTwoMB})
    for (bool is_queued : {false, true})
      all.push_back(1e3 * scenario.measured_table->of(Operation::all_reduce).time(bytes, is_queued).value());
  return all;
}

void expect_times(const AllReduceScale& scale, const std::vector<double>& expected) {
  auto scenario = of_a_table();
  scale_all_reduces(scenario, scale);
  auto times = milliseconds(scenario);
  ASSERT_EQ(times.size(), expected.size());
  for (std::size_t i = 0; i < times.size(); ++i) EXPECT_NEAR(times[i], expected[i], 1e-12);
}

TEST(ScaledAllReduces, OfATable) {
  expect_times({1, 1}, {5, 4.5, 9, 8.5});
  expect_times({0, 1}, {4, 4, 8, 8});      // without latency
  expect_times({1, 0}, {1, 0.5, 1, 0.5});  // with infinite bandwidth
  expect_times({0.5, 1}, {4.5, 4.25, 8.5, 8.25});
}

TEST(ScaledAllReduces, OfNcclsModel) {
  NcclCase one;
  one.topology = kH100s;
  auto plain = one.read();
  auto scaled = [&](const AllReduceScale& scale) {
    auto scenario = plain;
    scale_all_reduces(scenario, scale);
    return scenario;
  };
  // A choice points into the model of its scenario.
  auto without_latency = scaled({0, 1}), without_bytes = scaled({1, 0});
  auto [candidate, time, channels, stage] = choices(plain).front();
  auto no_latency = choices(without_latency).front(), no_bytes = choices(without_bytes).front();
  EXPECT_EQ(*no_latency.candidate, *candidate);
  EXPECT_EQ(no_latency.stage, stage);
  EXPECT_GT(no_bytes.time, Seconds(0));
  EXPECT_NEAR((no_latency.time + no_bytes.time).value(), time.value(), 1e-15);
  EXPECT_EQ(no_bytes.time, plain.communication->nccl[0]->cost().time(*candidate, Bytes(0)));
  EXPECT_EQ(choices(plain).front().time, time);  // the scenario's own stays as it was
}

// 8 NICs of 25 GB/s, each with 2 x 15/16 of an eighth of 102.4 MB: 0.96 ms, which have no latency.
TEST(ScaledAllReduces, LinksBindAsBefore) {
  NcclCase one;
  one.collective = "nccl: {algorithm: ring, protocol: simple, calibration: calibration.yaml}";
  one.calibration = kNoTimeAtAll;
  auto scenario = one.read();
  EXPECT_NEAR(choices(scenario).front().time.value(), 0.96e-3, 1e-12);
  scale_all_reduces(scenario, {0, 1});
  EXPECT_NEAR(choices(scenario).front().time.value(), 0.96e-3, 1e-12);
  scale_all_reduces(scenario, {1, 0.5});
  EXPECT_NEAR(choices(scenario).front().time.value(), 0.48e-3, 1e-12);
}

}  // namespace
}  // namespace ddpsim::testing
