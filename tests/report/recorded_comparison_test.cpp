#include "sim/report/recorded_comparison.hpp"

#include <sstream>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "sim/report/result_json.hpp"

#include "tests/report/small_case.hpp"
#include "tests/support/errors.hpp"

namespace ddpsim::test {
namespace {

// Of the two buckets of small_case.hpp, which are simulated from 1 s to 2 s and from 2 s to 4 s; recorded a
// little later, and the second one shorter.
RecordedCommunication recording() {
  RecordedCommunication recorded;
  recorded.world_size = 4;
  recorded.steps = 3;
  recorded.collectives = {{250, DType::float32, Seconds(1.25), Seconds(1.5), Seconds(2.5), Seconds(1)},
                          {500, DType::float32, Seconds(2), Seconds(2.5), Seconds(3.2), Seconds(0.75)}};
  return recorded;
}

TEST(RecordedComparison, TotalsOfBothSides) {
  auto comparison = compare_recorded(recording(), measure_small({{plain_rank()}}));
  EXPECT_EQ(comparison.world_size, 4);
  EXPECT_EQ(comparison.steps, 3);
  ASSERT_EQ(comparison.collectives.size(), 2U);
  EXPECT_EQ(comparison.collectives[0].start_difference(), Seconds(-0.5));
  EXPECT_EQ(comparison.collectives[0].end_difference(), Seconds(-0.5));
  EXPECT_EQ(comparison.collectives[0].end_relative_difference(), -0.2);
  EXPECT_EQ(comparison.recorded.last_ready, Seconds(2));
  EXPECT_EQ(comparison.recorded.last_end, Seconds(3.2));
  EXPECT_EQ(comparison.recorded.exposed(), Seconds(3.2) - Seconds(2));
  EXPECT_EQ(comparison.recorded.in_flight, Seconds(1.75));  // 1 + 0.75: the medians of the durations
  EXPECT_EQ(comparison.simulated.last_ready, Seconds(2));
  EXPECT_EQ(comparison.simulated.last_end, Seconds(4));
  EXPECT_EQ(comparison.simulated.exposed(), Seconds(2));  // as the iteration's exposed communication
  EXPECT_EQ(comparison.simulated.in_flight, Seconds(3));
}

TEST(RecordedComparison, ATableForPeople) {
  std::ostringstream out;
  print_comparison(out, compare_recorded(recording(), measure_small({{plain_rank()}})));
  EXPECT_EQ(out.str(),
            R"(
recorded (3 steps) and simulated, in ms from the start of the backward pass
                              recorded                        simulated                         difference
bucket        MiB      ready      start        end      ready      start        end      start        end        end
     0     0.0010   1250.000   1500.000   2500.000   1000.000   1000.000   2000.000   -500.000   -500.000     -20.0 %
     1     0.0019   2000.000   2500.000   3200.000   2000.000   2000.000   4000.000   -500.000   +800.000     +25.0 %

                            recorded   simulated  difference
last gradient ready         2000.000    2000.000      +0.000      +0.0 %
last all-reduce ends        3200.000    4000.000    +800.000     +25.0 %
exposed communication       1200.000    2000.000    +800.000     +66.7 %
all-reduces in flight       1750.000    3000.000   +1250.000     +71.4 %
)");
}

TEST(RecordedComparison, InJson) {
  auto metrics = measure_small({{plain_rank()}});
  auto json =
      nlohmann::json::parse(simulate_json(metrics, {"1", "3"}, compare_recorded(recording(), metrics)));
  auto expected = nlohmann::json::parse(R"({
    "world_size": 4, "steps": 3,
    "collectives": [
      {"bytes": 1000, "ready_s": 1.25, "start_s": 1.5, "end_s": 2.5, "duration_s": 1.0,
       "start_difference_s": -0.5, "end_difference_s": -0.5, "end_relative_difference": -0.2},
      {"bytes": 2000, "ready_s": 2.0, "start_s": 2.5, "end_s": 3.2, "duration_s": 0.75,
       "start_difference_s": -0.5, "end_difference_s": 0.8, "end_relative_difference": 0.25}],
    "last_ready_s": 2.0, "last_end_s": 3.2, "exposed_communication_s": 1.2, "communication_s": 1.75,
    "simulated": {"last_ready_s": 2.0, "last_end_s": 4.0, "exposed_communication_s": 2.0, "communication_s": 3.0}
  })");
  // The differences of decimals are not quite decimals.
  auto& second = json["recorded"]["collectives"][1];
  EXPECT_NEAR(second["end_difference_s"].get<double>(), 0.8, 1e-12);
  EXPECT_NEAR(second["end_relative_difference"].get<double>(), 0.25, 1e-12);
  EXPECT_NEAR(json["recorded"]["exposed_communication_s"].get<double>(), 1.2, 1e-12);
  second["end_difference_s"] = 0.8;
  second["end_relative_difference"] = 0.25;
  json["recorded"]["exposed_communication_s"] = 1.2;
  EXPECT_EQ(json["recorded"], expected);
  EXPECT_FALSE(nlohmann::json::parse(simulate_json(metrics, {"1", "3"})).contains("recorded"));
}

TEST(RecordedComparison, ARecordingThatEndsAtZeroHasNoShare) {
  RecordedCommunication recorded;
  recorded.world_size = 4;
  recorded.steps = 1;
  recorded.collectives = {{250, DType::float32, Seconds(0), Seconds(0), Seconds(0), Seconds(1)},
                          {500, DType::float32, Seconds(0), Seconds(0), Seconds(0), Seconds(1)}};
  auto metrics = measure_small({{plain_rank()}});
  auto comparison = compare_recorded(recorded, metrics);
  EXPECT_FALSE(comparison.collectives[0].end_relative_difference());
  std::ostringstream out;
  print_comparison(out, comparison);
  EXPECT_EQ(out.str().find("inf"), std::string::npos);
  auto json = nlohmann::json::parse(simulate_json(metrics, {"1", "3"}, comparison));
  EXPECT_TRUE(json["recorded"]["collectives"][0]["end_relative_difference"].is_null());
}

std::string error_of(const RecordedCommunication& recorded, const DdpOptions& options,
                     const std::vector<int>& groups = {4}, Reducer reducer = Reducer::ddp) {
  auto trace = two_gradients();
  auto plan = make_reduction_plan(trace, reducer, options);
  return testing::brief_error([&] { check_recorded(recorded, "r.csv", groups, trace, plan, options); });
}

DdpOptions with_cap(double bytes) {
  DdpOptions options;
  options.bucket_cap = Bytes(bytes);
  return options;
}

TEST(RecordedComparisonErrors, OtherBuckets) {
  // The first bucket closes with 1000 B: any cap up to that, of which 512 is the roundest.
  EXPECT_EQ(error_of(recording(), {}),
            "r.csv: recorded 2 all-reduces of 0.0009537, 0.001907 MiB; the scenario has 1 all-reduce of "
            "0.002861 MiB; bucket_cap 512B gives the recorded ones");
  EXPECT_EQ(error_of(recording(), {}, {4}, Reducer::flat),
            "r.csv: recorded 2 all-reduces of 0.0009537, 0.001907 MiB; the scenario has 1 all-reduce of "
            "0.002861 MiB; strategy ddp with bucket_cap 512B gives the recorded ones");
  auto one = recording();
  one.collectives.pop_back();
  one.collectives[0].elements = 750;
  EXPECT_EQ(error_of(one, with_cap(1)),
            "r.csv: recorded 1 all-reduce of 0.002861 MiB; the scenario has 2 all-reduces of 0.0009537, "
            "0.001907 MiB; PyTorch's default bucket_cap gives the recorded ones");
}

TEST(RecordedComparisonErrors, BucketsThatNoCapGives) {
  auto swapped = recording();
  std::swap(swapped.collectives[0].elements, swapped.collectives[1].elements);
  EXPECT_EQ(error_of(swapped, with_cap(1)),
            "r.csv: recorded 2 all-reduces of 0.001907, 0.0009537 MiB; the scenario has 2 all-reduces of "
            "0.0009537, 0.001907 MiB; no bucket cap gives the recorded ones from this trace: do the "
            "gradients arrive in another order?");
}

TEST(RecordedComparisonErrors, AnotherModel) {
  auto recorded = recording();
  recorded.collectives[1].elements = 501;
  EXPECT_EQ(error_of(recorded, with_cap(1)),
            "r.csv: recorded 2 all-reduces of 0.0009537, 0.001911 MiB; the scenario has 2 all-reduces of "
            "0.0009537, 0.001907 MiB; 3004 bytes were recorded, and the trace has gradients of 3000: is it "
            "another model?");
}

// Of the first iteration, which knows no caps, PyTorch makes one bucket of everything.
TEST(RecordedComparisonErrors, AnotherIteration) {
  DdpOptions first;
  first.iteration = DdpIteration::first;
  const std::string message =
      "r.csv: recorded 2 all-reduces of 0.0009537, 0.001907 MiB; the scenario has 1 all-reduce of "
      "0.002861 MiB; ";
  EXPECT_EQ(error_of(recording(), first),
            message + "ddp.iteration steady with bucket_cap 512B gives the recorded ones");
  EXPECT_EQ(error_of(recording(), first, {4}, Reducer::flat),
            message + "strategy ddp and ddp.iteration steady with bucket_cap 512B gives the recorded ones");
  auto swapped = recording();
  std::swap(swapped.collectives[0].elements, swapped.collectives[1].elements);
  EXPECT_EQ(error_of(swapped, first),
            "r.csv: recorded 2 all-reduces of 0.001907, 0.0009537 MiB; the scenario has 1 all-reduce of "
            "0.002861 MiB; no bucket cap gives the recorded ones from this trace: do the gradients arrive in "
            "another order?");
}

TEST(RecordedComparisonErrors, CompressedByAHook) {
  auto recorded = recording();
  for (auto& collective : recorded.collectives) collective.dtype = DType::bfloat16;
  EXPECT_EQ(error_of(recorded, with_cap(1)),
            "r.csv: recorded 2 all-reduces of 0.0004768, 0.0009537 MiB; the scenario has 2 all-reduces of "
            "0.0009537, 0.001907 MiB; the trace's 750 elements were recorded in 1500 bytes of bfloat16, not "
            "3000 of float32: did a communication hook compress them?");
}

TEST(RecordedComparisonErrors, OtherDtypes) {
  auto recorded = recording();
  recorded.collectives[1].elements = 1000;
  recorded.collectives[1].dtype = DType::bfloat16;
  EXPECT_EQ(error_of(recorded, with_cap(1)),
            "r.csv: recorded all-reduce 1 is of bfloat16; the scenario's is of float32; 1000 elements of "
            "bfloat16 have as many bytes as 500 of float32: is it another model?");
  EXPECT_EQ(error_of(recorded, {}),
            "r.csv: recorded 2 all-reduces of 0.0009537, 0.001907 MiB; the scenario has 1 all-reduce of "
            "0.002861 MiB; gradients of bfloat16 and float32 were recorded, and the trace has as many bytes "
            "of float32: is it another model?");
}

TEST(RecordedComparisonErrors, OtherRanks) {
  EXPECT_EQ(
      error_of(recording(), with_cap(1), {8}),
      "r.csv: was recorded among 4 ranks, and the scenario reduces among 8; --set cluster.world_size=4");
}

TEST(RecordedComparisonErrors, OtherRanksInGroups) {
  auto plan = make_reduction_plan(two_gradients(), Reducer::ddp, with_cap(1));
  EXPECT_NO_THROW(check_recorded(recording(), "r.csv", {4, 4}, two_gradients(), plan, with_cap(1)));
  EXPECT_EQ(error_of(recording(), with_cap(1), {2, 2, 2}),
            "r.csv: was recorded among 4 ranks, and the scenario reduces among 2; 3 groups of 4 ranks are a "
            "cluster.world_size of 12");
  EXPECT_EQ(
      error_of(recording(), with_cap(1), {4, 2}),
      "r.csv: was recorded among 4 ranks, and the scenario reduces among 2; every group must have 4 ranks");
}

TEST(RecordedComparisonErrors, ManyBucketsAreShortened) {
  auto recorded = recording();
  recorded.collectives.assign(9, recorded.collectives[0]);
  recorded.collectives.back().elements = 1000;
  EXPECT_EQ(error_of(recorded, with_cap(1)),
            "r.csv: recorded 9 all-reduces of 0.0009537, 0.0009537, 0.0009537, 0.0009537, ..., 0.0009537, "
            "0.0009537, 0.0009537, 0.003815 MiB; the scenario has 2 all-reduces of 0.0009537, 0.001907 MiB; "
            "12000 bytes were recorded, and the trace has gradients of 3000: is it another model?");
}

}  // namespace
}  // namespace ddpsim::test
