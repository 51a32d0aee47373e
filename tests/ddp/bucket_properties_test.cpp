// What holds for the plan of any trace and any options.
#include <algorithm>
#include <stdexcept>

#include <gtest/gtest.h>

#include "sim/ddp/ddp_rules.hpp"
#include "sim/ddp/distinct_bucket_caps.hpp"

#include "tests/ddp/random_case.hpp"
#include "tests/support/launch_times.hpp"

namespace ddpsim {
namespace {

using ddpsim::testing::bucket_launch_times;

using test::RandomCase;

constexpr unsigned kCases = 3000;

void set_caps(RandomCase& random, const LayerTrace& trace, DdpOptions& options) {
  if (options.torch >= TorchVersion{2, 11} && random.chance(40)) {
    for (auto n = random.number(1, 4); n > 0; --n) options.bucket_caps.push_back(random.cap(trace.bytes()));
    return;
  }
  if (random.chance(80)) options.bucket_cap = random.cap(trace.bytes());
  if (random.chance(40)) options.first_bucket_cap = random.cap(trace.bytes());
}

void expect_partition(const LayerTrace& trace, const ReductionPlan& plan) {
  std::vector<int> reduced(trace.gradients.size());
  for (const auto& bucket : plan.buckets) {
    EXPECT_FALSE(bucket.gradients.empty());
    Bytes bytes;
    for (auto gradient : bucket.gradients) {
      ++reduced.at(gradient);
      bytes += trace.gradients[gradient].bytes();
      EXPECT_EQ(trace.gradients[gradient].dtype, bucket.dtype);
    }
    EXPECT_EQ(bytes, bucket.bytes);
  }
  for (std::size_t gradient = 0; gradient < reduced.size(); ++gradient) {
    bool left_out =
        plan.reducer != Reducer::ddp && std::binary_search(plan.unused.begin(), plan.unused.end(), gradient);
    EXPECT_EQ(reduced[gradient], left_out ? 0 : 1) << trace.gradients[gradient].name;
  }
}

void expect_ordered_launches(const LayerTrace& trace, const ReductionPlan& plan) {
  auto ready = bucket_ready_times(trace, plan), launch = bucket_launch_times(trace, plan);
  ASSERT_EQ(launch.size(), plan.buckets.size());
  ASSERT_EQ(ready.size(), plan.buckets.size());
  EXPECT_TRUE(std::is_sorted(launch.begin(), launch.end()));
  constexpr Seconds kRounding(1e-12);
  for (std::size_t i = 0; i < launch.size(); ++i) EXPECT_GE(launch[i] + kRounding, ready[i]);
  EXPECT_LE(launch.back(), trace.backward() + kRounding);
  if (plan.launch == LaunchRule::after_backward) {
    EXPECT_NEAR(launch.front().value(), trace.backward().value(), 1e-12);
  }
}

TEST(BucketProperties, BucketsPartitionTheGradientsAndLaunchInOrder) {
  for (unsigned seed = 0; seed < kCases && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomCase random(seed);
    auto trace = random.trace(30, 1000);
    auto options = random.options(trace);
    set_caps(random, trace, options);
    for (auto strategy : {Reducer::naive, Reducer::flat, Reducer::overlap, Reducer::ddp}) {
      auto plan = make_reduction_plan(trace, strategy, options);
      expect_partition(trace, plan);
      expect_ordered_launches(trace, plan);
    }
  }
}

// A bucket reaches its limit with its last tensor and not before; one bucket of a dtype, its last one, may
// stay below.
TEST(BucketProperties, BucketsReachTheirLimitWithTheirLastTensor) {
  for (unsigned seed = 0; seed < kCases && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomCase random(seed);
    auto trace = random.trace(40, 1000);
    auto options = random.options(trace);
    set_caps(random, trace, options);
    auto rule = ddp_assignment_rule(options);
    auto plan = make_reduction_plan(trace, Reducer::ddp, options);
    if (rule.reverse_buckets) std::reverse(plan.buckets.begin(), plan.buckets.end());
    for (auto dtype : {DType::float16, DType::bfloat16, DType::float32, DType::float64}) {
      std::vector<Bucket> of_dtype;
      std::copy_if(plan.buckets.begin(), plan.buckets.end(), std::back_inserter(of_dtype),
                   [&](const Bucket& bucket) { return bucket.dtype == dtype; });
      for (std::size_t i = 0; i < of_dtype.size(); ++i) {
        auto limit = rule.limits[std::min(i, rule.limits.size() - 1)];
        auto last = trace.gradients[of_dtype[i].gradients.back()].bytes();
        EXPECT_LT(of_dtype[i].bytes - last, limit);
        if (i + 1 < of_dtype.size()) {
          EXPECT_GE(of_dtype[i].bytes, limit);
        }
      }
    }
  }
}

std::vector<std::vector<std::size_t>> gradients_of_buckets(const LayerTrace& trace, DdpOptions options,
                                                           double cap) {
  options.bucket_cap = Bytes(cap);
  auto plan = make_reduction_plan(trace, Reducer::ddp, options);
  std::vector<std::vector<std::size_t>> gradients;
  for (const auto& bucket : plan.buckets)
    gradients.emplace_back(bucket.gradients.begin(), bucket.gradients.end());
  return gradients;
}

// Every whole cap from one byte to more than there is to reduce.
std::vector<Bytes> distinct_caps_by_trial(const LayerTrace& trace, const DdpOptions& options) {
  std::vector<Bytes> caps{Bytes(1)};
  auto current = gradients_of_buckets(trace, options, 1);
  for (double cap = 2; cap <= trace.bytes().value() + 1; ++cap) {
    auto next = gradients_of_buckets(trace, options, cap);
    if (next == current) continue;
    caps.push_back(Bytes(cap));
    current = std::move(next);
  }
  return caps;
}

TEST(BucketProperties, DistinctCapsAreThoseFoundByTryingAll) {
  std::size_t most = 0, again = 0;
  for (unsigned seed = 0; seed < 400 && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomCase random(seed);
    auto trace = random.trace(12, 8);
    auto options = random.options(trace);
    if (random.chance(50)) options.first_bucket_cap = random.cap(trace.bytes());
    auto caps = distinct_bucket_caps(trace, options);
    EXPECT_EQ(caps, distinct_caps_by_trial(trace, options));
    EXPECT_EQ(std::adjacent_find(caps.begin(), caps.end(), std::greater_equal<>()), caps.end());
    // Buckets that come again are known for those of the first time.
    std::vector<std::vector<std::vector<std::size_t>>> plans;
    KnownBuckets known;
    options.bucket_cap = trace.bytes();
    auto plan = make_reduction_plan(trace, Reducer::ddp, options);
    for (auto cap : caps) {
      plans.push_back(gradients_of_buckets(trace, options, cap.value()));
      auto same_as = known.first_with(plans.size() - 1, plan, options, cap);
      EXPECT_EQ(same_as, static_cast<std::size_t>(std::find(plans.begin(), plans.end(), plans.back()) -
                                                  plans.begin()));
      again += same_as + 1 < plans.size();
    }
    most = std::max(most, caps.size());
  }
  EXPECT_GT(again, 0u);
  EXPECT_GT(most, 10u);  // the cases are not all trivial
}

// Whoever has seen enough need not wait for the rest: caps are found one at a time.
TEST(BucketProperties, DistinctCapsComeOneAtATime) {
  auto trace = RandomCase(7).trace(600, 10'000'000);
  std::vector<Bytes> seen;
  auto stop = [&](Bytes cap) {
    seen.push_back(cap);
    if (seen.size() == 3) throw std::length_error("enough");
  };
  EXPECT_THROW(for_each_distinct_bucket_cap(trace, {}, stop), std::length_error);
  auto all = distinct_bucket_caps(trace, {});
  ASSERT_GT(all.size(), 3u);
  all.resize(3);
  EXPECT_EQ(seen, all);
}

// The limit of 1 MiB that torch 2.4 keeps for the first bucket does not count: the cap does not move it.
TEST(BucketProperties, DistinctCapsBehindAFirstBucketOf1MiB) {
  LayerTrace trace;
  for (int i = 0; i < 6; ++i) {
    trace.gradients.push_back({.name = "p" + std::to_string(i),
                               .elements = i == 0 ? 262144 : 1 + i % 2,  // the first fills 1 MiB exactly
                               .dtype = DType::float32,
                               .ready = Seconds(i),
                               .ready_spread = {}});
    trace.registration_order.insert(trace.registration_order.begin(), static_cast<std::size_t>(i));
  }
  DdpOptions options;
  options.torch = {2, 3};
  // After it come 8 4 8 4 8 bytes. From 1 byte all are alone; from 5: 8 | 4 8 | 4 8; from 9: 8 4 | 8 4 | 8;
  // from 13: 8 4 8 | 4 8; from 21: 8 4 8 4 | 8; from 25 they are one bucket.
  EXPECT_EQ(distinct_bucket_caps(trace, options),
            (std::vector<Bytes>{Bytes(1), Bytes(5), Bytes(9), Bytes(13), Bytes(21), Bytes(25)}));
}

TEST(BucketProperties, DistinctCapsOfTheFirstIterationAreOne) {
  auto trace = RandomCase(1).trace(20, 100);
  DdpOptions options;
  options.iteration = DdpIteration::first;
  EXPECT_EQ(distinct_bucket_caps(trace, options), std::vector<Bytes>{Bytes(1)});
}

// A plan under another cap is the one that is made for that cap.
TEST(BucketProperties, AnotherCapGivesThePlanOfThatCap) {
  std::size_t changed = 0;
  for (unsigned seed = 0; seed < kCases && !HasFailure(); ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    RandomCase random(seed);
    auto trace = random.trace(30, 1000);
    auto options = random.options(trace);
    if (random.chance(50)) options.first_bucket_cap = random.cap(trace.bytes());
    if (random.chance(30)) {
      options = {};
      options.rule = BucketRule::close_before_exceeding;
    }
    options.bucket_cap = random.cap(trace.bytes());
    auto plan = make_reduction_plan(trace, Reducer::ddp, options);
    auto cap = random.cap(trace.bytes());
    auto other = with_bucket_cap(plan, options, cap);
    options.bucket_cap = cap;
    auto whole = make_reduction_plan(trace, Reducer::ddp, options);
    changed += whole.buckets != plan.buckets;
    auto walk = std::exchange(whole.walk, other.walk);  // of the same gradients
    EXPECT_TRUE(other == whole);
  }
  EXPECT_GT(changed, kCases / 3);
}

// Long traces with no two sums alike have the most assignments.
TEST(BucketProperties, DistinctCapsOfAHardTrace) {
  RandomCase random(7);
  LayerTrace trace;
  for (std::size_t i = 0; i < 600; ++i) {
    trace.gradients.push_back({.name = "p" + std::to_string(i),
                               .elements = random.number(1, 10'000'000),
                               .dtype = DType::float32,
                               .ready = {},
                               .ready_spread = {}});
    trace.registration_order.push_back(i);
  }
  auto caps = distinct_bucket_caps(trace, {});
  EXPECT_GT(caps.size(), 2000u);
  DdpOptions options;
  options.bucket_cap = caps.back();
  EXPECT_EQ(make_reduction_plan(trace, Reducer::ddp, options).buckets.size(), 1u);
}

}  // namespace
}  // namespace ddpsim
