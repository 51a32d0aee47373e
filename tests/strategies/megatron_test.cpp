// The step of Megatron's distributed optimizer as a program, derived by hand (sim/strategies/megatron.hpp).
#include "sim/strategies/megatron.hpp"

#include <gtest/gtest.h>

#include "tests/program/two_blocks.hpp"
#include "tests/support/plan_input.hpp"

namespace ddpsim::testing {
namespace {

std::string text_of(const MegatronOptions& options, int steps = 1, const Overheads& overheads = {}) {
  auto trace = two_blocks();
  return program_text(MegatronPlan(plan_input(trace, 8), options).program(trace, steps, overheads).program);
}

MegatronOptions small_buckets() {
  MegatronOptions options;
  options.bucket_size = 2'000'000;
  return options;
}

// Buckets close once they hold 2e6 elements: block 1 with the norm, block 0, the embedding. Forward asks for
// them the other way round: the embedding's gather is waited for, and block 0's dispatched with that; block
// 1's as block 0's is waited for. Gathered in bfloat16, reduced in float32.
TEST(Megatron, AsItsSourcesHaveIt) {
  EXPECT_EQ(text_of(small_buckets()),
            "0 all_gather 2: all_gather of 8 MiB on 0\n"
            "1 copy_out 2: 0 s, after 0\n"
            "2 all_gather 1: all_gather of 4 MiB on 0, after 1\n"
            "3 forward 0: 500 ms\n"
            "4 copy_out 1: 0 s, after 2\n"
            "5 all_gather 0: all_gather of 4.002 MiB on 0, after 4\n"
            "6 forward 0: 1 s\n"
            "7 copy_out 0: 0 s, after 5\n"
            "8 forward 0: 1.5 s\n"
            "9 backward 0: 3 s\n"
            "10 reduce_scatter 0: reduce_scatter of 8.004 MiB on 0, after 9\n"
            "11 backward 0: 3 s\n"
            "12 reduce_scatter 1: reduce_scatter of 8 MiB on 0, after 11\n"
            "13 backward 0: 1 s\n"
            "14 reduce_scatter 2: reduce_scatter of 16 MiB on 0, after 13\n"
            "15 optimizer 0: 100 ms, after 10 12 14\n");
}

// One bucket, reduced after backward and gathered after the optimizer.
TEST(Megatron, WithoutOverlap) {
  MegatronOptions options;
  options.overlap_grad_reduce = options.overlap_param_gather = false;
  EXPECT_EQ(text_of(options),
            "0 forward 0: 3 s\n"
            "1 backward 0: 7 s\n"
            "2 reduce_scatter 0: reduce_scatter of 32 MiB on 0, after 1\n"
            "3 optimizer 0: 100 ms, after 2\n"
            "4 all_gather 0: all_gather of 16 MiB on 0, after 3\n"
            "5 copy_out 0: 0 s, after 4\n");
}

// Only the last micro-batch reduces, only the first one gathers.
TEST(Megatron, Accumulation) {
  MegatronOptions options;
  EXPECT_EQ(text_of(options, 2),
            "0 all_gather 0: all_gather of 16 MiB on 0\n"
            "1 copy_out 0: 0 s, after 0\n"
            "2 forward 0: 3 s\n"
            "3 backward 0: 7 s\n"
            "4 forward 1: 3 s\n"
            "5 backward 1: 7 s\n"
            "6 reduce_scatter 0: reduce_scatter of 32 MiB on 0, after 5\n"
            "7 optimizer 0: 100 ms, after 6\n");
}

// A bucket's order is that of registration, its launch that of completion: the norm is registered first here,
// with the embedding, whose gradient is the last to arrive.
TEST(Megatron, LaunchedAsTheyAreComplete) {
  auto trace = two_blocks();
  trace.registration_order = {1, 2, 3, 4, 5, 0};  // the buffer: norm, embedding, block 0, block 1
  MegatronPlan plan(plan_input(trace, 8), small_buckets());
  ASSERT_EQ(plan.buckets.size(), 3U);
  EXPECT_EQ(plan.gradients(0)[0], 2U);  // block 1, complete after 3 s
  EXPECT_EQ(plan.gradients(1)[0], 4U);  // block 0, after 6 s
  EXPECT_EQ(plan.gradients(2)[0], 0U);  // norm and embedding, after 7 s
  EXPECT_EQ(plan.forward_order, (std::vector<std::size_t>{0, 1, 2}));
}

// Parameters start at multiples of 64 elements, buckets end at multiples of the ranks and of 128.
TEST(Megatron, Padding) {
  LayerTrace trace;
  trace.forward = Seconds(1);
  trace.gradients = {gradient("b", 100, 1, 1), gradient("a", 30, 2, 0.5)};
  trace.registration_order = reverse_of_arrival(2);
  EXPECT_EQ(MegatronPlan(plan_input(trace, 8), {}).buckets.front().elements, 256);  // 128 + 30 = 158
  EXPECT_EQ(MegatronPlan(plan_input(trace, 3), {}).buckets.front().elements, 384);  // lcm(3, 128)
}

// max(40e6, 1e6 x ranks): with 64 ranks a bucket holds 64e6 elements.
TEST(Megatron, BucketsGrowWithTheRanks) {
  LayerTrace trace;
  trace.forward = Seconds(1);
  for (int g = 0; g < 10; ++g) trace.gradients.push_back(gradient("a", 16'000'000, g + 1, 10 - g));
  trace.registration_order = reverse_of_arrival(10);
  EXPECT_EQ(MegatronPlan(plan_input(trace, 8), {}).buckets.size(), 4U);   // 3 x 16e6 each
  EXPECT_EQ(MegatronPlan(plan_input(trace, 64), {}).buckets.size(), 3U);  // 4 x 16e6
}

TEST(Megatron, DTypes) {
  auto trace = two_blocks();
  MegatronOptions options;
  EXPECT_EQ(MegatronPlan(plan_input(trace, 8), options).reduce_dtype, DType::float32);
  options.grad_reduce_in_fp32 = false;
  EXPECT_EQ(MegatronPlan(plan_input(trace, 8), options).reduce_dtype, DType::bfloat16);
  options = {};
  options.param_dtype = DType::float16;
  EXPECT_EQ(MegatronPlan(plan_input(trace, 8), options).reduce_dtype, DType::float16);
}

// A bucket is divided by the ranks before it is reduced: 8 MiB of float32 read and written at 1 GiB/s.
TEST(Megatron, DividesWhereItCosts) {
  Overheads overheads;
  overheads.pass_bandwidth = BytesPerSecond(0x1p30);
  overheads.passes = {1, 1};
  EXPECT_NE(text_of(small_buckets(), 1, overheads).find("copy_in 1: 15.625 ms\n"), std::string::npos);
}

}  // namespace
}  // namespace ddpsim::testing
