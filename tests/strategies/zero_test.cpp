// ZeRO's steps as programs, derived by hand from who waits for whom (sim/strategies/zero.hpp, zero3.hpp).
#include <algorithm>

#include <gtest/gtest.h>

#include "sim/strategies/zero3.hpp"

#include "tests/program/two_blocks.hpp"
#include "tests/support/plan_input.hpp"

namespace ddpsim::testing {
namespace {

constexpr std::int64_t kMi = 1 << 20;

// Three buckets of the model's 8 Mi + 1 Ki elements: block 1 with the norm (2 Mi + 1 Ki), block 0 (2 Mi), and
// the embedding, which with 4 Mi is larger than a bucket.
ZeroOptions small_buckets() {
  ZeroOptions options;
  options.reduce_bucket_size = 2'500'000;
  return options;
}

std::string text_of(int stage, const ZeroOptions& options, int steps = 1, const Overheads& overheads = {}) {
  auto trace = two_blocks();
  if (stage == 3)
    return program_text(Zero3Plan(plan_input(trace, 8), options).program(trace, steps, overheads).program);
  return program_text(
      ZeroPlan(plan_input(trace, 8), stage, options).program(trace, steps, overheads).program);
}

// The first bucket is full when block 0's first gradient arrives, 4.5 s into the backward pass: compute
// stands still until it is reduced. The second one is full when the embedding's arrives. Parameters are
// gathered in two pieces: 8 Mi + 1 Ki are two times 4e6 elements and more.
TEST(Zero2, WaitsForEachReduction) {
  auto options = small_buckets();
  options.allgather_bucket_size = 4'000'000;
  EXPECT_EQ(text_of(2, options),
            "0 forward 0: 3 s\n"
            "1 backward 0: 3 s\n"
            "2 backward 0: 1.5 s\n"
            "3 all_reduce 0: all_reduce of 4.002 MiB on 0, after 2\n"
            "4 backward 0: 1.5 s, after 3\n"
            "5 backward 0: 1 s\n"
            "6 all_reduce 1: all_reduce of 4 MiB on 0, after 5\n"
            "7 all_reduce 2: all_reduce of 8 MiB on 0, after 6 5\n"
            "8 optimizer 0: 100 ms, after 7\n"
            "9 all_gather 0: all_gather of 8.001 MiB on 0, after 8\n"
            "10 all_gather 1: all_gather of 8.001 MiB on 0, after 9 8\n"
            "11 copy_out 0: 0 s, after 10\n");
}

// Nobody waits for the first reduction before the second one is launched.
TEST(Zero2, OneReductionInFlight) {
  auto options = small_buckets();
  options.overlap_comm = true;
  EXPECT_EQ(text_of(2, options),
            "0 forward 0: 3 s\n"
            "1 backward 0: 3 s\n"
            "2 backward 0: 1.5 s\n"
            "3 all_reduce 0: all_reduce of 4.002 MiB on 0, after 2\n"
            "4 backward 0: 1.5 s\n"
            "5 backward 0: 1 s\n"
            "6 all_reduce 1: all_reduce of 4 MiB on 0, after 5 3\n"
            "7 all_reduce 2: all_reduce of 8 MiB on 0, after 5 6\n"
            "8 optimizer 0: 100 ms, after 3 6 7\n"
            "9 all_gather 0: all_gather of 16 MiB on 0, after 8\n"
            "10 copy_out 0: 0 s, after 9\n");
}

// After backward, in the order of registration: the embedding first.
TEST(Zero1, ReducesAfterBackward) {
  EXPECT_EQ(text_of(1, small_buckets()),
            "0 forward 0: 3 s\n"
            "1 backward 0: 7 s\n"
            "2 all_reduce 0: all_reduce of 8 MiB on 0, after 1\n"
            "3 all_reduce 1: all_reduce of 4 MiB on 0, after 2 1\n"
            "4 all_reduce 2: all_reduce of 4.002 MiB on 0, after 3 1\n"
            "5 optimizer 0: 100 ms, after 4\n"
            "6 all_gather 0: all_gather of 16 MiB on 0, after 5\n"
            "7 copy_out 0: 0 s, after 6\n");
}

TEST(Zero1, WithOverlapIsZero2OfOneMicroBatch) {
  auto options = small_buckets();
  options.overlap_comm = true;
  EXPECT_EQ(text_of(1, options), text_of(2, options));
  EXPECT_NE(text_of(1, options, 2), text_of(2, options, 2));
}

std::size_t count(const Program& program, Operation operation) {
  return static_cast<std::size_t>(std::count_if(program.ops.begin(), program.ops.end(), [&](const Op& op) {
    return op.kind == Op::Kind::collective && op.operation == operation;
  }));
}

// Stage 1 at the boundary of accumulation, stages 2 and 3 every micro-batch; stage 3 gathers in each.
TEST(Zero, HowOftenItCommunicates) {
  auto trace = two_blocks();
  auto options = small_buckets();
  auto of = [&](int stage) {
    auto program = ZeroPlan(plan_input(trace, 8), stage, options).program(trace, 3, {}).program;
    check_program(program);
    return std::pair(count(program, Operation::all_reduce), count(program, Operation::all_gather));
  };
  EXPECT_EQ(of(1), std::pair(std::size_t{3}, std::size_t{1}));
  EXPECT_EQ(of(2), std::pair(std::size_t{9}, std::size_t{1}));
  Zero3Plan plan(plan_input(trace, 8), options);
  auto program = plan.program(trace, 3, {}).program;
  check_program(program);
  EXPECT_EQ(count(program, Operation::reduce_scatter), 9U);
  EXPECT_EQ(count(program, Operation::all_gather), 3 * plan.schedule.gathers.size() + 1);
}

Seconds waits_for_host(const StepProgram& step) {
  Seconds all;
  for (const auto& op : step.program.ops)
    if (op.activity == Activity::host_wait) all += op.duration;
  return all;
}

// A pass takes as long as its hooks at least: forward 3 s, backward 7 s. Recomputation has a module's hooks
// of the forward pass again. Stages 1 and 2 wait for those of gradients, stage 1 in the last micro-batch
// alone.
TEST(Zero, WaitsForTheHostsHooks) {
  auto trace = two_blocks();
  auto gradients = static_cast<double>(trace.gradients.size());
  Overheads overheads;
  overheads.hooks = {Seconds(2), Seconds(3), Seconds(0.5)};
  // The optimizer of a rank takes 0.1 s, which the host is ahead of.
  auto stepped = 0.5 * gradients - 0.1;
  auto plan = Zero3Plan(plan_input(trace, 8), small_buckets());
  auto forward = static_cast<double>(plan.forward.size()),
       backward = static_cast<double>(plan.backward.size());
  auto expected = std::max(0.0, 2 * forward - 3) + std::max(0.0, 2 * backward - 7) + stepped;
  EXPECT_GT(expected, stepped);
  EXPECT_NEAR(waits_for_host(plan.program(trace, 1, overheads)).value(), expected, 1e-9);
  plan.hooks_of_backward = 2;
  EXPECT_NEAR(waits_for_host(plan.program(trace, 1, overheads)).value(), expected + 2 * backward, 1e-9);
  auto of = [&](int stage, int steps, bool overlaps) {
    auto options = small_buckets();
    options.overlap_comm = overlaps;
    return waits_for_host(ZeroPlan(plan_input(trace, 8), stage, options).program(trace, steps, overheads))
        .value();
  };
  auto wait = 3 * gradients - 7;
  EXPECT_GT(wait, 0);
  for (bool overlaps : {false, true}) EXPECT_NEAR(of(1, 3, overlaps), wait + stepped, 1e-9);
  EXPECT_NEAR(of(2, 3, false), 3 * wait + stepped, 1e-9);
  overheads.hooks = {Seconds(0.01), Seconds(0.01), {}};
  EXPECT_EQ(waits_for_host(plan.program(trace, 1, overheads)), Seconds());
  EXPECT_EQ(of(2, 1, true), 0);
}

// Each gradient's hook counts all parameters in 0.18.5 and 0.18.6; stage 3 has that beside its modules'
// hooks.
TEST(Zero, CountsParametersInEachHook) {
  auto trace = two_blocks();
  auto tensors = static_cast<double>(trace.gradients.size());
  Overheads overheads;
  overheads.hooks = {Seconds(2), Seconds(3), {}, Seconds(1)};
  auto of = [&](DeepSpeedVersion version, int stage) {
    auto options = small_buckets();
    options.version = version;
    return waits_for_host(stage == 3
                              ? Zero3Plan(plan_input(trace, 8), options).program(trace, 1, overheads)
                              : ZeroPlan(plan_input(trace, 8), stage, options).program(trace, 1, overheads))
        .value();
  };
  for (int stage : {1, 2, 3}) {
    EXPECT_NEAR(of({0, 18, 5}, stage) - of({0, 18, 4}, stage), tensors * tensors, 1e-9) << stage;
    EXPECT_EQ(of({0, 18, 6}, stage), of({0, 18, 5}, stage));
    EXPECT_EQ(of({0, 18, 7}, stage), of({0, 19, 8}, stage));
  }
}

// The same thread launches the model's kernels, whoever has hooks.
TEST(Zero, HooksAndLaunchesTakeTurns) {
  EXPECT_DOUBLE_EQ(host_wait(Seconds(2), Seconds(4), Seconds(4)), 0.5);
  EXPECT_EQ(host_wait(Seconds(2), Seconds(1), Seconds(4)), 0);
  EXPECT_EQ(host_wait(Seconds(), Seconds(5), Seconds(4)), 0);
}

// Before 0.12.4 each slice of a bucket is reduced to its owner.
TEST(Zero2, ReducesToOwners) {
  auto options = small_buckets();
  auto now = text_of(2, options);
  options.version = DeepSpeedVersion{0, 12, 4};
  EXPECT_EQ(text_of(2, options), now);
  options.version = DeepSpeedVersion{0, 12, 3};
  auto old = text_of(2, options);
  EXPECT_NE(old.find("3 reduce_scatter 0: reduce_scatter of 4.002 MiB on 0, after 2\n"), std::string::npos)
      << old;
  EXPECT_EQ(old.find("all_reduce"), std::string::npos) << old;
}

// 1 GiB/s and no launches: the bucket's 2 Mi + 1 Ki bfloat16 are copied in as they arrive (4 bytes moved
// each), flattened and divided before the reduction (2 + 3 x 2 bytes), and an eighth is copied back.
TEST(Zero2, CopiesWhereTheyCost) {
  Overheads overheads;
  overheads.pass_bandwidth = BytesPerSecond(0x1p30);
  overheads.passes = {1, 1};
  auto text = text_of(2, small_buckets(), 1, overheads);
  EXPECT_NE(text.find("copy_in 0: 3.90625 ms\n"), std::string::npos) << text;  // a matrix of 1 Mi
  EXPECT_NE(text.find("copy_in 0: 15.6326 ms\n"), std::string::npos) << text;  // all of it, 8 bytes each
  EXPECT_NE(text.find("copy_out 0: 977 us"), std::string::npos) << text;       // an eighth, 4 bytes each
  auto options = small_buckets();
  options.contiguous_gradients = false;
  auto flattened = text_of(2, options, 1, overheads);
  EXPECT_EQ(flattened.find("copy_in 0: 3.90625 ms\n"), std::string::npos) << flattened;
  EXPECT_NE(flattened.find("copy_out 0: 7.81631 ms"), std::string::npos) << flattened;
}

// The norm's 1 Ki elements are never released. Each module gathers the matrix after it, 1 Mi being what is
// prefetched, and the next one releases what it used. The head is the embedding's matrix: the last module of
// the forward pass gathers it again, the first one of the backward pass has it still, and the embedding's
// gathers it once more. A bucket is reduced as the first gradient of the next one arrives.
TEST(Zero3, AsItsSourcesHaveIt) {
  auto options = small_buckets();
  options.prefetch_bucket_size = kMi;
  options.max_reuse_distance = 1;
  EXPECT_EQ(text_of(3, options),
            "0 all_gather 0: all_gather of 8 MiB on 0\n"
            "1 all_gather 1: all_gather of 2 MiB on 0\n"
            "2 forward 0: 500 ms, after 0\n"
            "3 all_gather 2: all_gather of 2 MiB on 0, after 2\n"
            "4 forward 0: 500 ms, after 1\n"
            "5 all_gather 3: all_gather of 2 MiB on 0, after 4\n"
            "6 forward 0: 500 ms, after 3\n"
            "7 all_gather 4: all_gather of 2 MiB on 0, after 6\n"
            "8 forward 0: 500 ms, after 5\n"
            "9 all_gather 5: all_gather of 8 MiB on 0, after 8\n"
            "10 forward 0: 500 ms, after 7\n"
            "11 all_gather 6: all_gather of 2 MiB on 0, after 10\n"
            "12 forward 0: 500 ms, after 9\n"
            "13 all_gather 7: all_gather of 2 MiB on 0, after 12\n"
            "14 backward 0: 1 s\n"
            "15 all_gather 8: all_gather of 2 MiB on 0, after 14\n"
            "16 backward 0: 1 s, after 11\n"
            "17 all_gather 9: all_gather of 2 MiB on 0, after 16\n"
            "18 backward 0: 1 s, after 13\n"
            "19 all_gather 10: all_gather of 8 MiB on 0, after 18\n"
            "20 backward 0: 1.5 s, after 15\n"
            "21 reduce_scatter 0: reduce_scatter of 4.002 MiB on 0, after 20\n"
            "22 backward 0: 1.5 s, after 17\n"
            "23 backward 0: 1 s, after 19\n"
            "24 reduce_scatter 1: reduce_scatter of 4 MiB on 0, after 23\n"
            "25 reduce_scatter 2: reduce_scatter of 8 MiB on 0, after 23\n"
            "26 optimizer 0: 100 ms, after 21 24 25\n"
            "27 all_gather 11: all_gather of 2 KiB on 0, after 26\n"
            "28 copy_out 11: 0 s, after 27\n");
  // Most is live as the backward pass begins: the embedding, and two matrices of block 1.
  EXPECT_EQ(Zero3Plan(plan_input(two_blocks(), 8), options).schedule.most_live, 6 * kMi);
}

GatherSchedule schedule_of(const LayerTrace& trace, const ZeroOptions& options) {
  return Zero3Plan(plan_input(trace, 8), options).schedule;
}

// 1e9 elements between two uses: a model that is smaller is gathered once.
TEST(Zero3, ASmallModelIsGatheredOnce) {
  std::int64_t elements = 0;
  for (auto gathered : schedule_of(two_blocks(), {}).gathers) elements += gathered;
  EXPECT_EQ(elements, 8 * kMi);
}

// A gather of several modules is waited for, and copied out, once (AllGatherCoalescedHandle).
TEST(Zero3, AGatherIsWaitedForOnce) {
  std::vector<std::size_t> awaited;
  auto schedule = schedule_of(two_blocks(), {});
  for (const auto& module : schedule.modules)
    awaited.insert(awaited.end(), module.awaited.begin(), module.awaited.end());
  EXPECT_EQ(awaited, (std::vector<std::size_t>{0, 1}));
  EXPECT_EQ(schedule.gathers.size(), 2U);
}

// Without prefetching each module gathers what it lacks, and waits for it.
TEST(Zero3, NothingIsGatheredAhead) {
  ZeroOptions options;
  options.prefetch_bucket_size = 0;
  options.max_reuse_distance = 0;
  auto schedule = schedule_of(two_blocks(), options);
  EXPECT_EQ(schedule.gathers.size(), 12U);
  for (const auto& module : schedule.modules) EXPECT_FALSE(module.prefetch);
  EXPECT_EQ(schedule.most_live, 4 * kMi);
}

// Before 0.6 so it was, whatever the options; the host waits for each gather, so that hooks are never beside
// compute; and what is recomputed is gathered for that, too.
TEST(Zero3, GathersHooksAndComputeTakeTurns) {
  auto trace = two_blocks();
  ZeroOptions options;
  options.version = DeepSpeedVersion{0, 5, 10};
  Zero3Plan plan(plan_input(trace, 8), options);
  EXPECT_EQ(plan.schedule.gathers.size(), 12U);
  Overheads overheads;
  overheads.hooks = {Seconds(0.01), {}, {}};
  auto step = plan.program(trace, 1, overheads);
  EXPECT_NEAR(waits_for_host(step).value(),
              0.01 * static_cast<double>(plan.forward.size() + plan.backward.size()), 1e-9);
  plan.hooks_of_backward = 2;
  auto recomputed = plan.program(trace, 1, overheads);
  EXPECT_EQ(count(recomputed.program, Operation::all_gather) - count(step.program, Operation::all_gather),
            6U);
  options.version = DeepSpeedVersion{0, 6, 0};
  EXPECT_LT(Zero3Plan(plan_input(trace, 8), options).schedule.gathers.size(), 12U);
}

// Live parameters bound what is prefetched, by a module's own at most.
TEST(Zero3, LiveParametersAreBounded) {
  ZeroOptions options;
  options.max_reuse_distance = 0;
  for (std::int64_t most : {0L, 1 * kMi, 3 * kMi, 5 * kMi, 100 * kMi}) {
    options.max_live_parameters = most;
    EXPECT_LE(schedule_of(two_blocks(), options).most_live, most + 4 * kMi) << most;
  }
}

TEST(Zero3, AHeadOfItsOwnLeavesTheEmbeddingAlone) {
  auto trace = two_blocks();
  EXPECT_EQ(forward_modules(trace).back().used, (std::vector<std::size_t>{0, 5}));
  EXPECT_EQ(backward_modules(trace).front().used, (std::vector<std::size_t>{0, 5}));
  trace.gradients[0] = gradient("lm_head.weight", 4 * kMi, 1, 3);
  EXPECT_EQ(forward_modules(trace).back().used, std::vector<std::size_t>{0});
}

// A bucket waits until the one three before it is reduced.
TEST(Zero3, ThreeReductionsInFlight) {
  auto options = small_buckets();
  options.reduce_bucket_size = 1;  // each gradient by itself
  auto text = text_of(3, options);
  auto first = text.find("reduce_scatter 0"), fourth = text.find("copy_in 3: 0 s, after");
  ASSERT_NE(fourth, std::string::npos) << text;
  auto op = text.rfind('\n', first) + 1;
  EXPECT_EQ(text.substr(fourth, text.find('\n', fourth) - fourth),
            "copy_in 3: 0 s, after " + text.substr(op, text.find(' ', op) - op));
  options.overlap_comm = false;
  EXPECT_EQ(text_of(3, options).find("copy_in"), std::string::npos);
}

}  // namespace
}  // namespace ddpsim::testing
