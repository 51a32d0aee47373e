// What PowerSGD compresses, by hand.
#include "sim/ddp/power_sgd.hpp"

#include <gtest/gtest.h>

#include "sim/base/source.hpp"
#include "sim/ddp/reduction_plan.hpp"

namespace ddpsim::testing {
namespace {

LayerTrace three() {
  LayerTrace trace;
  for (std::int64_t elements : {8000, 100, 64}) {
    Gradient gradient;
    gradient.name = "g" + std::to_string(trace.gradients.size());
    gradient.elements = elements;
    gradient.ready = Seconds(1);
    trace.gradients.push_back(gradient);
  }
  trace.registration_order = reverse_of_arrival(3);
  return trace;
}

// 100 x 80 at rank 2: 2 (100 + 80) x 2 = 720 < 8000, compressed. A vector of 100 is 100 x 1, its rank 1 and
// 2 (100 + 1) > 100: whole. 8 x 8: 2 (8 + 8) x 2 = 64, not less than 64: whole.
const std::vector<std::int64_t> kRows{100, 100, 8};

DdpOptions rank_2() {
  DdpOptions options;
  options.comm_hook = CommHook::power_sgd;
  options.power_sgd.rank = 2;
  options.parameter_rows = kRows;
  return options;
}

TEST(PowerSgd, CompressesWhatIsWorthIt) {
  auto plan = low_rank_plan(three(), kRows, rank_2().power_sgd);
  EXPECT_EQ(plan.gradients[0].rank, 2);
  EXPECT_EQ(plan.gradients[1].rank, 0);
  EXPECT_EQ(plan.gradients[2].rank, 0);
  // At a rank of one 8 x 8 is worth it: 2 (8 + 8) = 32 < 64.
  auto options = rank_2().power_sgd;
  options.rank = 1;
  EXPECT_EQ(low_rank_plan(three(), kRows, options).gradients[2].rank, 1);
  // At most as many as rows and columns: 2 (100 + 80) x 80 > 8000.
  options.rank = 500;
  EXPECT_EQ(low_rank_plan(three(), kRows, options).gradients[0].rank, 0);
  options.min_compression_rate = 0.5;
  EXPECT_EQ(low_rank_plan(three(), kRows, options).gradients[0].rank, 80);
}

// 164 elements whole, P of 100 x 2, Q of 80 x 2.
TEST(PowerSgd, ThreeAllReducesABucket) {
  auto plan = make_reduction_plan(three(), Reducer::ddp, rank_2());
  EXPECT_EQ(all_reduces_of(plan), (std::vector{Bytes(4 * 164), Bytes(4 * 200), Bytes(4 * 160)}));
  ASSERT_EQ(plan.buckets.size(), 1);
  EXPECT_EQ(plan.buckets[0].wire, Bytes(4 * (164 + 200 + 160)));
  EXPECT_EQ(plan.buckets[0].bytes, Bytes(4 * 8164));
  EXPECT_EQ(wire_dtype(plan, plan.buckets[0]), DType::float32);
  // A bucket of vectors is all-reduced as it is, one of matrices without the first step.
  auto options = rank_2();
  options.bucket_cap = Bytes(1);
  EXPECT_EQ(all_reduces_of(make_reduction_plan(three(), Reducer::ddp, options)),
            (std::vector{Bytes(800), Bytes(640), Bytes(400), Bytes(256)}));
}

// Iterations count from 0; before start_iteration whole buckets are reduced.
TEST(PowerSgd, StartsLater) {
  auto options = rank_2();
  options.iteration = DdpIteration::second;
  EXPECT_FALSE(make_reduction_plan(three(), Reducer::ddp, options).low_rank);
  EXPECT_EQ(make_reduction_plan(three(), Reducer::ddp, options).buckets[0].wire, Bytes(4 * 8164));
  options.power_sgd.start_iteration = 1;
  EXPECT_THROW(make_reduction_plan(three(), Reducer::ddp, options), InputError);
  options.power_sgd.error_feedback = options.power_sgd.warm_start = false;
  EXPECT_TRUE(make_reduction_plan(three(), Reducer::ddp, options).low_rank);
  options.iteration = DdpIteration::first;
  EXPECT_FALSE(make_reduction_plan(three(), Reducer::ddp, options).low_rank);
}

TEST(PowerSgd, NeedsShapes) {
  auto options = rank_2();
  options.parameter_rows.clear();
  EXPECT_THROW(make_reduction_plan(three(), Reducer::ddp, options), InputError);
}

}  // namespace
}  // namespace ddpsim::testing
