// DataParallel's and a parameter server's steps as programs, derived by hand
// (sim/strategies/single_process.hpp, parameter_server.hpp).
#include <gtest/gtest.h>

#include "sim/strategies/parameter_server.hpp"
#include "sim/strategies/single_process.hpp"

#include "tests/program/two_blocks.hpp"

namespace ddpsim::testing {
namespace {

SingleProcessPlan four_replicas() {
  SingleProcessOptions options;
  options.loss = Seconds(0.25);
  SingleProcessPlan plan(two_blocks(), options, 4);
  plan.scatter = Seconds(0.125);
  plan.gather = Seconds(0.5);
  return plan;
}

// In the order of registration: the embedding of 16 MiB, block 0's matrices of 4 MiB each, block 1's, the
// norm of 4 KiB. A broadcast closes with 10 MiB or more, a reduction before more than 10 MiB. The losses of
// three other replicas take 0.75 s.
TEST(DataParallelModule, NothingIsHidden) {
  auto step = four_replicas().program(two_blocks(), 1, {});
  EXPECT_EQ(program_text(step.program),
            "0 host_copy 0: 125 ms\n"
            "1 replicate 0: broadcast of 16 MiB on 0, after 0\n"
            "2 replicate 1: broadcast of 12 MiB on 0, after 0\n"
            "3 replicate 2: broadcast of 4.004 MiB on 0, after 0\n"
            "4 forward 0: 3 s, after 1 2 3\n"
            "5 peer_copy 0: 500 ms\n"
            "6 forward 0: 750 ms\n"
            "7 peer_copy 0: 500 ms\n"
            "8 backward 0: 7 s\n"
            "9 reduce 0: reduce of 16 MiB on 0, after 8\n"
            "10 reduce 1: reduce of 8 MiB on 0, after 8\n"
            "11 reduce 2: reduce of 8.004 MiB on 0, after 8\n"
            "12 optimizer 0: 800 ms, after 9 10 11\n");
  // The other GPUs wait while GPU 0 gathers, has the loss and steps.
  for (std::size_t op = 0; op < step.program.ops.size(); ++op) {
    bool of_first = op == 5 || op == 6 || op == 7 || op == 12;
    EXPECT_EQ(step.others->ops[op].duration, of_first ? Seconds() : step.program.ops[op].duration) << op;
  }
}

// Replicas live as long as a forward pass: they are broadcast, and their gradients reduced, each time.
TEST(DataParallelModule, EveryMicroBatchCommunicates) {
  auto program = four_replicas().program(two_blocks(), 3, {}).program;
  check_program(program);
  EXPECT_EQ(std::ranges::count(program.ops, Activity::replicate, &Op::activity), 9);
  EXPECT_EQ(std::ranges::count(program.ops, Activity::reduce, &Op::activity), 9);
  EXPECT_EQ(std::ranges::count(program.ops, Activity::optimizer, &Op::activity), 1);
}

// 4 replicas of 1 s each are launched one after the other, while a forward pass takes 3 s.
TEST(DataParallelModule, TheInterpreterLaunchesOneForwardPassAfterTheOther) {
  auto plan = four_replicas();
  plan.options.host_forward = Seconds(1);
  auto text = program_text(plan.program(two_blocks(), 1, {}).program);
  EXPECT_NE(text.find("4 forward 0: 3 s, after 1 2 3\n5 launch 0: 1 s\n"), std::string::npos) << text;
  plan.options.host_forward = Seconds(0.75);
  EXPECT_EQ(plan.program(two_blocks(), 1, {}).program, four_replicas().program(two_blocks(), 1, {}).program);
}

ServerPlan two_servers(bool synchronous) {
  ServerPlan plan;
  plan.options = {2, false, synchronous, 0x1p19};
  plan.workers = 8;
  if (!synchronous) plan.links = Seconds(20);
  return plan;
}

// A key a gradient. Two servers have half of it each, and step 512 Ki parameters a second: a matrix of 1 Mi
// takes 1 s, the embedding of 4 Mi takes 4 s.
constexpr const char* kPushesAndPulls =
    "0 forward 0: 3 s\n"
    "1 backward 0: 1 s\n"
    "2 push 0: reduce of 4 KiB on 0, after 1\n"
    "3 pull 0: broadcast of 4 KiB on 1 976.6 us, after 2\n"
    "4 backward 0: 1 s\n"
    "5 push 1: reduce of 4 MiB on 0, after 4\n"
    "6 pull 1: broadcast of 4 MiB on 1 1 s, after 5\n"
    "7 backward 0: 1 s\n"
    "8 push 2: reduce of 4 MiB on 0, after 7\n"
    "9 pull 2: broadcast of 4 MiB on 1 1 s, after 8\n"
    "10 backward 0: 1.5 s\n"
    "11 push 3: reduce of 4 MiB on 0, after 10\n"
    "12 pull 3: broadcast of 4 MiB on 1 1 s, after 11\n"
    "13 backward 0: 1.5 s\n"
    "14 push 4: reduce of 4 MiB on 0, after 13\n"
    "15 pull 4: broadcast of 4 MiB on 1 1 s, after 14\n"
    "16 backward 0: 1 s\n"
    "17 push 5: reduce of 16 MiB on 0, after 16\n"
    "18 pull 5: broadcast of 16 MiB on 1 4 s, after 17\n"
    "19 optimizer 0: 0 s, after 3 6 9 12 15 18\n";

TEST(ParameterServer, KeysAreSteppedBetweenPushAndPull) {
  EXPECT_EQ(program_text(two_servers(true).program(two_blocks(), 1, {}).program), kPushesAndPulls);
}

// The same, and no step is shorter than what the servers take for all workers.
TEST(ParameterServer, AsynchronousWorkersShareTheServers) {
  auto program = two_servers(false).program(two_blocks(), 1, {}).program;
  EXPECT_EQ(program.ops.front().activity, Activity::serve);
  EXPECT_EQ(program.ops.front().duration, Seconds(20));
  EXPECT_EQ(program.ops.back().after.size(), 7U);
  EXPECT_EQ(program.ops.back().after.front(), 0U);
}

// Gradients of all but the last micro-batch are added up on the GPU.
TEST(ParameterServer, PushesOnceAStep) {
  auto program = two_servers(true).program(two_blocks(), 4, {}).program;
  check_program(program);
  EXPECT_EQ(std::ranges::count(program.ops, Activity::push, &Op::activity), 6);
  EXPECT_EQ(std::ranges::count(program.ops, Activity::forward, &Op::activity), 4);
}

}  // namespace
}  // namespace ddpsim::testing
