// The steps of four strategies as programs, derived by hand.
#include "sim/program/data_parallel.hpp"

#include <gtest/gtest.h>

#include "sim/base/check.hpp"

namespace ddpsim::testing {
namespace {

// Three gradients of 4 MiB, ready at 1, 2 and 4 s; forward 3 s, optimizer 0.5 s.
LayerTrace three() {
  LayerTrace trace;
  trace.forward = Seconds(3);
  trace.optimizer = Seconds(0.5);
  double ready[] = {1, 2, 4};
  for (int i = 0; i < 3; ++i) {
    Gradient gradient;
    gradient.name = "g" + std::to_string(i);
    gradient.elements = 1024 * 1024;
    gradient.ready = Seconds(ready[i]);
    trace.gradients.push_back(gradient);
  }
  trace.registration_order = reverse_of_arrival(3);
  return trace;
}

std::string text_of(Reducer reducer, const DdpOptions& options = {}, const Overheads& overheads = {}) {
  auto trace = three();
  return program_text(
      data_parallel_program(trace, make_reduction_plan(trace, reducer, options), overheads).program);
}

DdpOptions cap(Bytes bytes) {
  DdpOptions options;
  options.bucket_cap = bytes;
  return options;
}

TEST(StepProgram, OverlapLaunchesEachGradientAsItComes) {
  EXPECT_EQ(text_of(Reducer::overlap),
            "0 forward 0: 3 s\n"
            "1 backward 0: 1 s\n"
            "2 all_reduce 0: all_reduce of 4 MiB on 0, after 1\n"
            "3 backward 0: 1 s\n"
            "4 all_reduce 1: all_reduce of 4 MiB on 0, after 3\n"
            "5 backward 0: 2 s\n"
            "6 all_reduce 2: all_reduce of 4 MiB on 0, after 5\n"
            "7 optimizer 0: 500 ms, after 2 4 6\n");
}

// Two gradients fill the first bucket; the backward pass before it is one op.
TEST(StepProgram, DdpLaunchesBuckets) {
  EXPECT_EQ(text_of(Reducer::ddp, cap(Bytes(8 * 0x1p20))),
            "0 forward 0: 3 s\n"
            "1 backward 0: 2 s\n"
            "2 all_reduce 0: all_reduce of 8 MiB on 0, after 1\n"
            "3 backward 0: 2 s\n"
            "4 all_reduce 1: all_reduce of 4 MiB on 0, after 3\n"
            "5 optimizer 0: 500 ms, after 2 4\n");
}

TEST(StepProgram, FlatReducesOnceAfterBackward) {
  EXPECT_EQ(text_of(Reducer::flat),
            "0 forward 0: 3 s\n"
            "1 backward 0: 4 s\n"
            "2 all_reduce 0: all_reduce of 12 MiB on 0, after 1\n"
            "3 optimizer 0: 500 ms, after 2\n");
}

// One after the other: each waits for the one before, and the optimizer for the last.
TEST(StepProgram, NaiveIsALoop) {
  EXPECT_EQ(text_of(Reducer::naive),
            "0 forward 0: 3 s\n"
            "1 backward 0: 1 s\n"
            "2 backward 0: 1 s\n"
            "3 backward 0: 2 s\n"
            "4 all_reduce 0: all_reduce of 4 MiB on 0, after 3\n"
            "5 all_reduce 1: all_reduce of 4 MiB on 0, after 4 3\n"
            "6 all_reduce 2: all_reduce of 4 MiB on 0, after 5 3\n"
            "7 optimizer 0: 500 ms, after 6\n");
}

// Two micro-batches, buffers, a bitmap; and what an implementation does besides: at 1 MiB/s a pass over 4 MiB
// takes 8 s, hooks 0.1 s, launches 0.2 s; the first all-reduce starts 0.3 s later.
TEST(StepProgram, EverythingHasItsPlace) {
  auto options = cap(Bytes(100 * 0x1p20));
  options.accumulation_steps = 2;
  options.find_unused_parameters = true;
  options.broadcast_buffers = std::vector{Bytes(0x1p20), Bytes(0x1p20)};
  Overheads overheads;
  overheads.pass_bandwidth = BytesPerSecond(0x1p20);
  overheads.passes = {1, 0.5};
  overheads.gradient = Seconds(0.1);
  overheads.launch = Seconds(0.2);
  overheads.first_start = Seconds(0.3);
  EXPECT_EQ(text_of(Reducer::ddp, options, overheads),
            "0 broadcast 0: broadcast of 1 MiB on 0\n"
            "1 broadcast 0: broadcast of 1 MiB on 0, after 0\n"
            "2 forward 0: 3 s, after 1\n"
            "3 backward 0: 4 s\n"
            "4 forward 1: 3 s\n"
            "5 backward 1: 1 s\n"
            "6 launch 0: 100 ms\n"
            "7 copy_in 0: 8 s\n"
            "8 backward 1: 1 s\n"
            "9 launch 0: 100 ms\n"
            "10 copy_in 0: 8 s\n"
            "11 backward 1: 2 s\n"
            "12 launch 0: 100 ms\n"
            "13 copy_in 0: 8 s\n"
            "14 launch 0: 200 ms\n"
            "15 all_reduce 0: all_reduce of 12 MiB on 0 300 ms, after 14\n"
            "16 launch 0: 200 ms\n"
            "17 used_parameter_bitmap 0: all_reduce of 12 B on 0, after 16\n"
            "18 copy_out 0: 12 s, after 15\n"
            "19 optimizer 0: 500 ms, after 17\n");
}

TEST(StepProgram, SaysWhenBucketsAreReady) {
  auto trace = three();
  auto plan = make_reduction_plan(trace, Reducer::ddp, cap(Bytes(8 * 0x1p20)));
  auto program = data_parallel_program(trace, plan, {});
  ASSERT_EQ(program.ready.size(), 2U);
  EXPECT_EQ(program.ready[0], 1U);
  EXPECT_EQ(program.ready[1], 3U);
  trace.forward.reset();
  trace.gradients[0].ready = trace.gradients[1].ready = Seconds(0);
  EXPECT_EQ(data_parallel_program(trace, plan, {}).ready[0], std::nullopt);  // as the program starts
}

TEST(Program, OpsWaitForEarlierOnesOnly) {
  Program program{1, {Op(), Op()}};
  program.ops[1].after = {0};
  check_program(program);
  program.ops[1].after = {1};
  EXPECT_THROW(check_program(program), InternalError);
  program.ops[1].after = {};
  program.ops[1].kind = Op::Kind::collective;
  program.ops[1].communicator = 1;
  EXPECT_THROW(check_program(program), InternalError);
}

}  // namespace
}  // namespace ddpsim::testing
