#include "sim/ddp/reduction_plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/ddp/small_trace.hpp"
#include "tests/support/launch_times.hpp"

namespace ddpsim {
namespace {

using ddpsim::testing::bucket_launch_times;

using namespace literals;
using test::show_buckets;
using test::show_seconds;
using test::small_trace;
using ::testing::ElementsAre;
using enum DType;

// Ten float32 elements are 40 bytes. Arrives as a b c d, registered as d c b a.
LayerTrace abcd() {
  return small_trace({{"a", 10}, {"b", 10}, {"c", 10}, {"d", 30}});
}

DdpOptions cap(Bytes bytes) {
  DdpOptions options;
  options.bucket_cap = bytes;
  return options;
}

std::string ddp_buckets(const LayerTrace& trace, const DdpOptions& options) {
  return show_buckets(trace, make_reduction_plan(trace, Reducer::ddp, options));
}

TEST(ReductionPlan, NaiveReducesEachParameterAfterBackwardAsRegistered) {
  auto trace = abcd();
  auto plan = make_reduction_plan(trace, Reducer::naive, cap(80_B));
  EXPECT_EQ(show_buckets(trace, plan), "d | c | b | a");
  EXPECT_EQ(show_seconds(bucket_ready_times(trace, plan)), "4 3 2 1");
  EXPECT_EQ(show_seconds(bucket_launch_times(trace, plan)), "4 4 4 4");
  EXPECT_EQ(plan.bucket_cap, std::nullopt);
}

TEST(ReductionPlan, FlatReducesOneBufferPerDType) {
  auto trace = small_trace({{"a", 10}, {"b", 10, float16}, {"c", 10}});
  auto plan = make_reduction_plan(trace, Reducer::flat, {});
  EXPECT_EQ(show_buckets(trace, plan), "c a | b");
  EXPECT_EQ(plan.buckets[0].bytes, 80_B);
  EXPECT_EQ(plan.buckets[1].bytes, 20_B);
  EXPECT_EQ(plan.buckets[1].dtype, float16);
  EXPECT_EQ(show_seconds(bucket_ready_times(trace, plan)), "3 2");
  EXPECT_EQ(show_seconds(bucket_launch_times(trace, plan)), "3 3");
}

TEST(ReductionPlan, OverlapReducesEachParameterAsItArrives) {
  auto trace = abcd();
  auto plan = make_reduction_plan(trace, Reducer::overlap, cap(80_B));
  EXPECT_EQ(show_buckets(trace, plan), "a | b | c | d");
  EXPECT_EQ(show_seconds(bucket_launch_times(trace, plan)), "1 2 3 4");
  EXPECT_EQ(plan.bucket_cap, std::nullopt);
}

TEST(ReductionPlan, DdpFillsBucketsInArrivalOrder) {
  auto trace = abcd();
  auto plan = make_reduction_plan(trace, Reducer::ddp, cap(80_B));
  EXPECT_EQ(show_buckets(trace, plan), "a b | c d");
  EXPECT_EQ(plan.buckets[1].bytes, 160_B);
  EXPECT_EQ(plan.bucket_cap, 80_B);
  EXPECT_EQ(plan.used_parameter_bitmap, std::nullopt);
  EXPECT_EQ(show_seconds(bucket_launch_times(trace, plan)), "2 4");
}

// The first bucket in the list is the last to be ready, and the other two wait for it.
TEST(ReductionPlan, ALaterBucketWaitsForTheEarlierOnes) {
  auto trace = small_trace({{"a", 10}, {"b", 10, float16}, {"c", 10}, {"d", 10}});
  trace.registration_order = {1, 0, 2, 3};
  auto options = cap(80_B);
  options.find_unused_parameters = true;  // keeps the registration order: b | a c | d, turned round
  auto plan = make_reduction_plan(trace, Reducer::ddp, options);
  EXPECT_EQ(show_buckets(trace, plan), "d | a c | b");
  EXPECT_EQ(show_seconds(bucket_ready_times(trace, plan)), "4 3 2");
  EXPECT_EQ(show_seconds(bucket_launch_times(trace, plan)), "4 4 4");
}

// 300 KiB each: four make 1.17 MiB.
TEST(ReductionPlan, FirstLimitDependsOnTheTorchVersion) {
  auto trace =
      small_trace({{"a", 76800}, {"b", 76800}, {"c", 76800}, {"d", 76800}, {"e", 76800}, {"f", 76800}});
  auto options = cap(Bytes(600 * 1024));
  options.torch = {2, 3};
  EXPECT_EQ(ddp_buckets(trace, options), "a b c d | e f");
  options.torch = {2, 4};
  EXPECT_EQ(ddp_buckets(trace, options), "a b | c d | e f");
  options.bucket_cap.reset();
  EXPECT_EQ(ddp_buckets(trace, options), "a b c d | e f");
  options.first_bucket_cap = 1_B;
  EXPECT_EQ(ddp_buckets(trace, options), "a | b c d e f");
  options.bucket_cap = Bytes(600 * 1024);
  EXPECT_EQ(ddp_buckets(trace, options), "a | b c | d e | f");
  options.torch = {1, 7};
  EXPECT_EQ(ddp_buckets(trace, options), "a | b c | d e | f");
}

TEST(ReductionPlan, ListOfCapsRepeatsTheLastAndHoldsFromTheFirstIteration) {
  auto trace = abcd();
  DdpOptions options;
  options.torch = {2, 11};
  options.bucket_caps = {1_B, 80_B};
  EXPECT_EQ(ddp_buckets(trace, options), "a | b c | d");
  EXPECT_EQ(make_reduction_plan(trace, Reducer::ddp, options).bucket_cap, 80_B);
  options.iteration = DdpIteration::first;  // d | c b | a, turned round
  EXPECT_EQ(ddp_buckets(trace, options), "a | c b | d");
}

// Assigned from the end, d alone reaches 40 bytes; the buckets are turned back, the gradients inside them are
// not.
TEST(ReductionPlan, SmallBucketLast) {
  auto trace = abcd();
  auto options = cap(80_B);
  options.first_bucket_cap = 40_B;
  EXPECT_EQ(ddp_buckets(trace, options), "a | b c | d");
  options.set_last_bucket_cap = true;
  EXPECT_EQ(ddp_buckets(trace, options), "a | c b | d");
  options.first_bucket_cap = 121_B;
  EXPECT_EQ(ddp_buckets(trace, options), "b a | d c");
}

// 40, 40, 40 and 120 bytes, registered d c b a: the walk is a b c d, and d is larger than the first caps.
TEST(ReductionPlan, ClosedBeforeExceedingTheCap) {
  auto trace = abcd();
  auto options = cap(80_B);
  options.rule = BucketRule::close_before_exceeding;
  EXPECT_EQ(ddp_buckets(trace, options), "a b | c | d");
  options.bucket_cap = 119_B;
  EXPECT_EQ(ddp_buckets(trace, options), "a b | c | d");
  options.bucket_cap = 120_B;
  EXPECT_EQ(ddp_buckets(trace, options), "a b c | d");
  options.bucket_cap = 240_B;
  EXPECT_EQ(ddp_buckets(trace, options), "a b c d");
  options.bucket_cap = 1_B;
  EXPECT_EQ(ddp_buckets(trace, options), "a | b | c | d");
}

// The walk is d c a b, the buckets d, c a and b: the last of them is complete first, and launched first.
TEST(ReductionPlan, HandWrittenBucketsAreLaunchedAsTheyAreComplete) {
  auto trace = abcd();
  trace.registration_order = {1, 0, 2, 3};
  auto options = cap(80_B);
  options.rule = BucketRule::close_before_exceeding;
  auto plan = make_reduction_plan(trace, Reducer::ddp, options);
  EXPECT_EQ(show_buckets(trace, plan), "b | c a | d");
  EXPECT_EQ(show_seconds(bucket_launch_times(trace, plan)), "2 3 4");
  EXPECT_EQ(plan.bucket_cap, 80_B);
}

TEST(ReductionPlan, FirstIterationReducesEachDTypeAtOnce) {
  auto trace = small_trace({{"a", 10}, {"b", 10, float16}, {"c", 10}});
  auto options = cap(1_B);
  options.iteration = DdpIteration::first;
  auto plan = make_reduction_plan(trace, Reducer::ddp, options);
  EXPECT_EQ(show_buckets(trace, plan),
            "b | c a");  // registered c b a; the float32 bucket comes first, then turned round
  EXPECT_EQ(plan.bucket_cap, std::nullopt);
  EXPECT_EQ(plan.launch, LaunchRule::when_ready);
  options.torch = {1, 11};  // the first limit was 1 MiB in every iteration
  EXPECT_EQ(show_buckets(trace, make_reduction_plan(trace, Reducer::ddp, options)), "b | c a");
  options.first_bucket_cap = 1_B;
  EXPECT_EQ(show_buckets(trace, make_reduction_plan(trace, Reducer::ddp, options)), "a | b | c");
}

// The float16 bucket holds 42 bytes and is closed. Of those left open, 40, 40 and 2 bytes, the dtype that
// appears last in the walk comes first: float32 at a, float64 at e, bfloat16 at g.
TEST(ReductionPlan, OpenBucketsComeInTheReverseOfTheirDTypesFirstAppearance) {
  auto trace = small_trace({{"a", 5},
                            {"b", 10, float16},
                            {"c", 5},
                            {"d", 10, float16},
                            {"e", 5, float64},
                            {"f", 1, float16},
                            {"g", 1, bfloat16}});
  EXPECT_EQ(ddp_buckets(trace, cap(41_B)), "b d f | g | e | a c");
}

TEST(ReductionPlan, StaticGraphReducesTheFirstIterationAfterBackward) {
  auto trace = abcd();
  auto options = cap(40_B);
  options.static_graph = true;
  options.iteration = DdpIteration::first;
  auto plan = make_reduction_plan(trace, Reducer::ddp, options);
  EXPECT_EQ(show_buckets(trace, plan), "d c b a");
  EXPECT_EQ(plan.launch, LaunchRule::after_backward);
  EXPECT_EQ(plan.used_parameter_bitmap, 16_B);
  options.iteration = DdpIteration::second;  // not rebuilt yet, but launched by the hooks
  plan = make_reduction_plan(trace, Reducer::ddp, options);
  EXPECT_EQ(show_buckets(trace, plan), "d c b a");
  EXPECT_EQ(plan.launch, LaunchRule::when_ready);
  EXPECT_EQ(plan.used_parameter_bitmap, std::nullopt);
  options.iteration = DdpIteration::steady;
  plan = make_reduction_plan(trace, Reducer::ddp, options);
  EXPECT_EQ(show_buckets(trace, plan), "a | b | c | d");
  EXPECT_EQ(plan.launch, LaunchRule::when_ready);
  EXPECT_EQ(plan.used_parameter_bitmap, std::nullopt);
}

TEST(ReductionPlan, StaticGraphPutsUnusedParametersAtTheEnd) {
  auto trace = abcd();
  auto options = cap(80_B);
  options.static_graph = true;
  options.unused_parameters = {"a", "c"};
  auto plan = make_reduction_plan(trace, Reducer::ddp, options);
  EXPECT_EQ(show_buckets(trace, plan), "b d | c a");
  EXPECT_THAT(plan.unused, ElementsAre(0, 2));
  EXPECT_EQ(show_seconds(bucket_ready_times(trace, plan)), "4 2");  // c and a are marked ready with b
  EXPECT_EQ(show_seconds(bucket_launch_times(trace, plan)), "4 4");
}

// Registered d c b a: d | c b | a, the list of buckets turned round, in every iteration.
TEST(ReductionPlan, FindUnusedParametersNeverRebuilds) {
  auto trace = abcd();
  auto options = cap(80_B);
  options.find_unused_parameters = true;
  options.set_last_bucket_cap = true;  // a rule of the rebuild
  for (auto iteration : {DdpIteration::first, DdpIteration::steady}) {
    options.iteration = iteration;
    auto plan = make_reduction_plan(trace, Reducer::ddp, options);
    EXPECT_EQ(show_buckets(trace, plan), "a | c b | d");
    EXPECT_EQ(plan.used_parameter_bitmap, 16_B);  // an int32 for each of four parameters
    EXPECT_EQ(plan.bucket_cap, 80_B);
    EXPECT_EQ(plan.launch, LaunchRule::when_ready);
  }
}

TEST(ReductionPlan, UnusedGradientsAreReadyWithTheFirstThatArrives) {
  auto trace = abcd();
  auto options = cap(80_B);
  options.find_unused_parameters = true;
  options.unused_parameters = {"d", "a", "d"};
  auto plan = make_reduction_plan(trace, Reducer::ddp, options);
  EXPECT_EQ(show_buckets(trace, plan), "a | c b | d");
  EXPECT_THAT(plan.unused, ElementsAre(0, 3));
  EXPECT_EQ(show_seconds(bucket_ready_times(trace, plan)), "2 3 2");
  EXPECT_EQ(show_seconds(bucket_launch_times(trace, plan)), "2 3 3");
}

TEST(ReductionPlan, HandWrittenStrategiesLeaveUnusedParametersOut) {
  auto trace = abcd();
  DdpOptions options;
  options.unused_parameters = {"b"};
  EXPECT_EQ(show_buckets(trace, make_reduction_plan(trace, Reducer::naive, options)), "d | c | a");
  EXPECT_EQ(show_buckets(trace, make_reduction_plan(trace, Reducer::flat, options)), "d c a");
  EXPECT_EQ(show_buckets(trace, make_reduction_plan(trace, Reducer::overlap, options)), "a | c | d");
}

TEST(ReductionPlan, KeepsTheAccumulationSteps) {
  DdpOptions options;
  options.accumulation_steps = 4;
  EXPECT_EQ(make_reduction_plan(abcd(), Reducer::ddp, options).accumulation_steps, 4);
}

}  // namespace
}  // namespace ddpsim
