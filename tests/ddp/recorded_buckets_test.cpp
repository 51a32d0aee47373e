#include "sim/ddp/recorded_buckets.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/ddp/ddp_rules.hpp"

#include "tests/ddp/random_case.hpp"
#include "tests/ddp/small_trace.hpp"

namespace ddpsim::test {
namespace {

using namespace literals;
using ::testing::ElementsAre;
using ::testing::IsEmpty;

RecordedCollective collective(std::int64_t elements, DType dtype = DType::float32) {
  RecordedCollective one;
  one.elements = elements;
  one.dtype = dtype;
  return one;
}

std::vector<RecordedCollective> collectives(std::initializer_list<std::int64_t> elements) {
  std::vector<RecordedCollective> all;
  for (auto count : elements) all.push_back(collective(count));
  return all;
}

std::vector<RecordedCollective> as_recorded(const ReductionPlan& plan) {
  std::vector<RecordedCollective> all;
  for (const auto& bucket : plan.buckets)
    all.push_back(collective(
        static_cast<std::int64_t>(bucket.bytes.value()) / bytes_per_element(bucket.dtype), bucket.dtype));
  return all;
}

LayerTrace three_gradients() {
  return small_trace({{"a", 10}, {"b", 20}, {"c", 30}});
}

// [a b] [c], 4 bytes each: the first cap is above 40 B and at most 120 B. The last bucket may stay open, so
// any later cap will do.
TEST(RecordedBuckets, TwoBucketsOfThreeGradients) {
  EXPECT_THAT(caps_that_give(collectives({30, 30}), three_gradients(), {}),
              ElementsAre(CapIntervals{{Bytes(41), Bytes(120)}, {Bytes(1), {}}}));
}

// [a] [b] [c]: a closes the first bucket, b the second.
TEST(RecordedBuckets, ABucketEach) {
  EXPECT_THAT(caps_that_give(collectives({10, 20, 30}), three_gradients(), {}),
              ElementsAre(CapIntervals{{Bytes(1), Bytes(40)}, {Bytes(1), Bytes(80)}}));
}

// One bucket of all: 120 B do not close it, and nothing comes after it.
TEST(RecordedBuckets, OneBucket) {
  EXPECT_THAT(caps_that_give(collectives({60}), three_gradients(), {}),
              ElementsAre(CapIntervals{{Bytes(121), {}}, {Bytes(1), {}}}));
}

TEST(RecordedBuckets, NoCapsGiveWhatGradientsDoNotAddUpTo) {
  auto trace = three_gradients();
  EXPECT_THAT(caps_that_give(collectives({31, 29}), trace, {}), IsEmpty());     // cuts a gradient
  EXPECT_THAT(caps_that_give(collectives({30}), trace, {}), IsEmpty());         // too few
  EXPECT_THAT(caps_that_give(collectives({30, 30, 1}), trace, {}), IsEmpty());  // too many
  EXPECT_THAT(caps_that_give({}, trace, {}), IsEmpty());
  EXPECT_FALSE(options_that_give(collectives({30}), trace, {}));
  auto half = std::vector{collective(60, DType::float16)};
  EXPECT_THAT(caps_that_give(half, trace, {}), IsEmpty());  // another dtype
}

// [a] of 40 B, [b c] of 240 B, [d] of 400 B, [e] of 40 B: the third bucket asks for a cap of at most 400 B,
// the second for one above 80 B and at most 240 B.
TEST(RecordedBuckets, EveryBucketNarrowsTheCap) {
  auto trace = small_trace({{"a", 10}, {"b", 20}, {"c", 40}, {"d", 100}, {"e", 10}});
  EXPECT_THAT(caps_that_give(collectives({10, 60, 100, 10}), trace, {}),
              ElementsAre(CapIntervals{{Bytes(1), Bytes(40)}, {Bytes(81), Bytes(240)}}));
  // [b] [c d] would need a cap of at most 80 B and one above 160 B.
  EXPECT_THAT(caps_that_give(collectives({10, 20, 140, 10}), trace, {}), IsEmpty());
}

TEST(RecordedBuckets, PrefersFewAndRoundCaps) {
  auto caps_of = [](std::initializer_list<std::int64_t> elements, const LayerTrace& trace,
                    TorchVersion torch = {}) {
    DdpOptions options;
    options.torch = torch;
    auto found = options_that_give(collectives(elements), trace, options);
    return found ? describe_caps(*found) : "none";
  };
  auto trace = three_gradients();
  EXPECT_EQ(caps_of({60}, trace), "PyTorch's default bucket_cap");
  // (40, 120] holds 64, 96 and so on; 64 is the roundest.
  EXPECT_EQ(caps_of({30, 30}, trace), "bucket_cap 64B");
  // The first cap alone is 1 MiB until torch 2.3.
  EXPECT_EQ(caps_of({30, 30}, trace, {2, 3}), "first_bucket_cap 64B and bucket_cap 25MiB");
  auto large =
      small_trace({{"a", 1 << 20}, {"b", 3 << 20}, {"c", 5 << 20}, {"d", 2 << 20}});  // 4, 12, 20, 8 MiB
  EXPECT_EQ(caps_of({1 << 20, 8 << 20, 2 << 20}, large), "PyTorch's default bucket_cap");
  EXPECT_EQ(caps_of({4 << 20, 5 << 20, 2 << 20}, large), "bucket_cap 16MiB");  // (4, 16] and at most 20 MiB
  EXPECT_EQ(caps_of({1 << 20, 3 << 20, 5 << 20, 2 << 20}, large, {2, 3}), "bucket_cap 8MiB");
}

// Whatever the rule makes of random gradients under random caps, the caps are among those found, and the
// options found give the same buckets again.
TEST(RecordedBuckets, FindsTheCapsThatMadeTheBuckets) {
  for (unsigned seed = 0; seed < 2000; ++seed) {
    RandomCase random(seed);
    auto trace = random.trace(30, 2000);
    auto options = random.options(trace);
    bool whole = has_initial_buckets(options) && !searches_unused_parameters(options);
    if (whole) continue;  // no caps before the rebuild
    options.bucket_cap = random.cap(trace.bytes() * 1.1 + Bytes(1));
    options.first_bucket_cap =
        random.chance(50) ? random.cap(*options.bucket_cap) : random.cap(trace.bytes());
    auto recorded = as_recorded(make_reduction_plan(trace, Reducer::ddp, options));
    auto found = caps_that_give(recorded, trace, options);
    int holding = 0;
    for (const auto& caps : found)
      if (caps.first.contains(*options.first_bucket_cap) && caps.later.contains(*options.bucket_cap))
        ++holding;
    ASSERT_EQ(holding, 1) << "seed " << seed;
    auto again = options_that_give(recorded, trace, options);
    ASSERT_TRUE(again) << "seed " << seed;
    ASSERT_EQ(as_recorded(make_reduction_plan(trace, Reducer::ddp, *again)), recorded) << "seed " << seed;
  }
}

// Just outside the interval the buckets are others, at both of its ends.
TEST(RecordedBuckets, TheIntervalsAreTight) {
  for (unsigned seed = 0; seed < 500; ++seed) {
    RandomCase random(seed);
    auto trace = random.trace(20, 500);
    for (auto& gradient : trace.gradients) gradient.dtype = DType::float16;
    DdpOptions options;
    options.first_bucket_cap = random.cap(trace.bytes());
    options.bucket_cap = random.cap(trace.bytes());
    auto recorded = as_recorded(make_reduction_plan(trace, Reducer::ddp, options));
    auto found = caps_that_give(recorded, trace, options);
    ASSERT_EQ(found.size(), 1U) << "seed " << seed;
    auto differs = [&](std::optional<Bytes> DdpOptions::*cap, Bytes value) {
      if (value < Bytes(1)) return true;
      auto changed = options;
      changed.*cap = value;
      return as_recorded(make_reduction_plan(trace, Reducer::ddp, changed)) != recorded;
    };
    auto tight = [&](std::optional<Bytes> DdpOptions::*cap, const CapInterval& interval) {
      return differs(cap, interval.smallest - Bytes(1)) &&
             (!interval.largest || differs(cap, *interval.largest + Bytes(1)));
    };
    EXPECT_TRUE(tight(&DdpOptions::first_bucket_cap, found[0].first)) << "seed " << seed;
    EXPECT_TRUE(tight(&DdpOptions::bucket_cap, found[0].later)) << "seed " << seed;
  }
}

// torchvision's resnet50 in the reverse of registration: fc, then layer4 to layer1, each block's downsample
// before its bn3, conv3 ... conv1, then bn1 and conv1; of each module the bias before the weight.
LayerTrace resnet50() {
  LayerTrace trace;
  auto add = [&](const std::string& name, std::int64_t elements) {
    trace.gradients.push_back({.name = name, .elements = elements, .ready = Seconds(1), .ready_spread = {}});
  };
  auto add_norm = [&](const std::string& name, std::int64_t width) {
    add(name + ".bias", width);
    add(name + ".weight", width);
  };
  add("fc.bias", 1000);
  add("fc.weight", 1000 * 2048);
  constexpr int kBlocks[] = {3, 4, 6, 3};
  for (int layer = 4; layer >= 1; --layer) {
    std::int64_t width = 32 << layer, in = layer == 1 ? 64 : 2 * width;  // of the layer's first block
    for (int block = kBlocks[layer - 1] - 1; block >= 0; --block) {
      auto name = "layer" + std::to_string(layer) + "." + std::to_string(block);
      auto block_in = block == 0 ? in : 4 * width;
      if (block == 0) {
        add_norm(name + ".downsample.1", 4 * width);
        add(name + ".downsample.0.weight", 4 * width * block_in);
      }
      add_norm(name + ".bn3", 4 * width);
      add(name + ".conv3.weight", 4 * width * width);
      add_norm(name + ".bn2", width);
      add(name + ".conv2.weight", 9 * width * width);
      add_norm(name + ".bn1", width);
      add(name + ".conv1.weight", width * block_in);
    }
  }
  add_norm("bn1", 64);
  add("conv1.weight", 64 * 3 * 49);
  trace.registration_order = reverse_of_arrival(trace.gradients.size());
  return trace;
}

// What a profiler saw on two A100s with PyTorch's defaults (facebookresearch/HolisticTraceAnalysis,
// tests/data/nccl_parser_config). By hand: the first bucket holds fc, 1000 x 2048 + 1000 elements: its bias,
// 4000 B, leaves 1 MiB open and its weight closes it.
TEST(RecordedBuckets, ARealStepOfResNet50) {
  auto trace = resnet50();
  ASSERT_EQ(trace.gradients.size(), 161U);
  ASSERT_EQ(trace.bytes(), Bytes(4.0 * 25'557'032));
  auto recorded = collectives({2'049'000, 7'875'584, 6'563'840, 6'637'568, 2'431'040});
  auto found = options_that_give(recorded, trace, {});
  ASSERT_TRUE(found);
  EXPECT_EQ(describe_caps(*found), "PyTorch's default bucket_cap");
  auto caps = caps_that_give(recorded, trace, {});
  ASSERT_EQ(caps.size(), 1U);
  EXPECT_EQ(caps[0].first, (CapInterval{Bytes(4001), Bytes(4 * 2'049'000)}));
  // The third bucket is the smallest that the cap closed; the fourth held 6,113,280 elements before its last
  // tensor, layer3.0.downsample.0.weight with 1024 x 512, brought it to 6,637,568.
  EXPECT_EQ(caps[0].later, (CapInterval{Bytes(4 * 6'113'280 + 1), Bytes(4 * 6'563'840)}));
  EXPECT_TRUE(caps[0].later.contains(25_MiB));
  EXPECT_FALSE(caps[0].later.contains(23_MiB));
  EXPECT_FALSE(caps[0].later.contains(26_MiB));
}

}  // namespace
}  // namespace ddpsim::test
