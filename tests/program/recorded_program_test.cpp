// Programs of steps written down as `ddpsim record` would.
#include "sim/program/recorded_program.hpp"

#include <gtest/gtest.h>

namespace ddpsim::testing {
namespace {

using Ops = std::vector<std::size_t>;

RecordedOperator kernel(RecordedPhase phase, std::size_t stream = 0, std::string name = "gelu") {
  RecordedOperator op;
  op.name = std::move(name);
  op.written = 1;
  op.phase = phase;
  op.stream = stream;
  return op;
}
LaunchedCollective launch(Operation operation, double bytes, std::vector<std::size_t> on,
                          std::size_t group = 0) {
  LaunchedCollective one;
  one.operation = operation;
  one.bytes = Bytes(bytes);
  one.on = std::move(on);
  one.group = group;
  return one;
}

constexpr auto kForward = RecordedPhase::forward, kBackward = RecordedPhase::backward,
               kOptimizer = RecordedPhase::optimizer;

// Every kernel takes a second.
struct Step {
  explicit Step(std::vector<RecordedItem> items) {
    auto recording = std::make_shared<Recording>();
    recording->world_size = 4;
    recording->groups = {
        {.name = "world", .count = 4}, {.name = "pair", .stride = 2, .count = 2}, {.name = "self"}};
    recording->items = std::move(items);
    for (const auto& item : recording->items)
      step.times.push_back(Seconds(std::holds_alternative<RecordedOperator>(item) ? 1 : 0));
    step.recording = std::move(recording);
  }
  RecordedStep step;
  [[nodiscard]] RecordedRanks ranks() const { return recorded_ranks({step.recording}); }
  [[nodiscard]] Program program() const {
    std::vector steps{std::make_shared<const RecordedStep>(step)};
    return recorded_programs(steps, ranks()).front().program;
  }
  [[nodiscard]] std::vector<Op> ops() const { return program().ops; }
};

// DistributedDataParallel: buckets start behind what fills them, and one wait ends all.
TEST(RecordedProgram, KernelsJoinUntilSomebodyWaitsForOne) {
  auto ops = Step({kernel(kForward), kernel(kForward), kernel(kBackward),
                   launch(Operation::all_reduce, 8, {2}), kernel(kBackward), kernel(kBackward),
                   launch(Operation::all_reduce, 4, {5}), RecordedWait{{3, 6}, 0}, kernel(kOptimizer)})
                 .ops();
  ASSERT_EQ(ops.size(), 6U);
  EXPECT_EQ(ops[0].activity, Activity::forward);
  EXPECT_EQ(ops[0].duration, Seconds(2));
  EXPECT_EQ(ops[1].activity, Activity::backward);
  EXPECT_EQ(ops[1].duration, Seconds(1));
  EXPECT_EQ(ops[2].kind, Op::Kind::collective);
  EXPECT_EQ(ops[2].bytes, Bytes(8));
  EXPECT_EQ(ops[2].after, Ops{1});
  EXPECT_EQ(ops[3].duration, Seconds(2));
  EXPECT_EQ(ops[4].after, Ops{3});
  EXPECT_EQ(ops[5].activity, Activity::optimizer);
  EXPECT_EQ(ops[5].after, (Ops{2, 4}));
}

// FSDP2: a copy on a stream of its own, a gather behind it on a third that computes nothing, a pass that
// waits for that one.
TEST(RecordedProgram, StreamsThatComputeAreLanes) {
  auto ops = Step({kernel(kForward), kernel(kForward, 1, "fsdp::all_gather_copy_in"), RecordedWait{{1}, 2},
                   launch(Operation::all_gather, 8, {2}), RecordedWait{{3}, 2}, RecordedWait{{4}, 0},
                   kernel(kForward)})
                 .ops();
  ASSERT_EQ(ops.size(), 4U);
  EXPECT_EQ(ops[0].lane, 0U);
  EXPECT_EQ(ops[1].lane, 1U);
  EXPECT_EQ(ops[1].activity, Activity::copy_in);
  EXPECT_TRUE(ops[1].after.empty());
  EXPECT_EQ(ops[2].after, Ops{1});
  EXPECT_EQ(ops[3].after, Ops{2});
  EXPECT_EQ(ops[3].lane, 0U);
}

TEST(RecordedProgram, NothingIsLaunchedWhileTheHostStops) {
  auto ops = Step({kernel(kForward), launch(Operation::all_reduce, 8, {0}), RecordedStop{"item", {1}},
                   kernel(kForward), kernel(kForward, 1)})
                 .ops();
  ASSERT_GE(ops.size(), 4U);
  EXPECT_EQ(ops[2].after, Ops{1});
  EXPECT_EQ(ops[3].after, Ops{1});
}

// Nor a collective of what was there before.
TEST(RecordedProgram, CollectivesWaitForTheHostToo) {
  auto ops = Step({kernel(kForward), kernel(kForward, 1), RecordedStop{"synchronize", {1}},
                   launch(Operation::all_reduce, 8, {0})})
                 .ops();
  ASSERT_EQ(ops[2].kind, Op::Kind::collective);
  EXPECT_EQ(ops[2].after, (Ops{0, 1}));
}

// What follows a gradient is not always DistributedDataParallel's.
TEST(RecordedTrace, OnlyCopiesOfGradientsAreLeftOut) {
  EXPECT_TRUE(is_copied_by_ddp(kernel(kBackward, 0, "mul"), true, false));
  EXPECT_FALSE(is_copied_by_ddp(kernel(kBackward, 0, "mm"), true, false));
  EXPECT_FALSE(is_copied_by_ddp(kernel(kBackward, 0, "mul"), false, false));
  EXPECT_TRUE(is_copied_by_ddp(kernel(kBackward, 0, "copy_"), false, true));
  EXPECT_FALSE(is_copied_by_ddp(kernel(kOptimizer, 0, "copy_"), false, true));
}

// Samples are a rank's own where all ranks communicate together, and not between a pass' operators; tokens
// are integers.
TEST(RecordedTrace, CountsSamplesWhereEachRankHasItsOwn) {
  auto trace_of = [](std::vector<RecordedItem> items, const char* dtype = "int64") {
    Step step(std::move(items));
    auto recording = std::make_shared<Recording>(*step.step.recording);
    recording->parameters = {{"w", 3, "float32", true, {3}}};
    recording->inputs = {{{8, 16}, dtype}};
    step.step.recording = recording;
    return recorded_trace({std::make_shared<const RecordedStep>(step.step)});
  };
  auto gather = launch(Operation::all_gather, 8, {0});
  auto of_unit = gather;
  of_unit.stream = 1;
  auto plain = trace_of({kernel(kForward), of_unit, kernel(kBackward), kernel(kForward)});
  EXPECT_EQ(plain.metadata.batch_size, 16) << "two micro-batches";
  EXPECT_EQ(plain.metadata.sequence_length, 16);
  EXPECT_FALSE(trace_of({kernel(kForward), of_unit}, "float32").metadata.sequence_length);
  EXPECT_FALSE(trace_of({kernel(kForward), gather}).metadata.batch_size);
  EXPECT_FALSE(trace_of({kernel(kForward), launch(Operation::all_reduce, 8, {0}, 1)}).metadata.batch_size);
  EXPECT_TRUE(trace_of({kernel(kForward), launch(Operation::all_reduce, 8, {0}, 2)}).metadata.batch_size);
}

TEST(RecordedProgram, AStepEndsWithAllOfIt) {
  auto program =
      Step({kernel(kForward), kernel(kForward, 1), launch(Operation::all_reduce, 8, {0})}).program();
  const auto& last = program.ops.back();
  EXPECT_EQ(last.duration, Seconds());
  EXPECT_EQ(last.after, (Ops{1, 2}));
}

// Each group that communicates is a communicator; one of a single rank, or of tensors on CPUs, takes nothing.
TEST(RecordedProgram, GroupsAreCommunicators) {
  auto of_cpu = launch(Operation::all_reduce, 8, {0});
  of_cpu.is_of_cpu = true;
  LaunchedCollective barrier;
  barrier.group = 1;
  barrier.on = {0};
  Step step({kernel(kForward), launch(Operation::all_gather, 8, {0}, 1),
             launch(Operation::all_reduce, 8, {0}, 2), of_cpu, barrier, RecordedWait{{2}, 0},
             kernel(kForward)});
  auto communicators = step.ranks().communicators;
  ASSERT_EQ(communicators.size(), 1U);
  EXPECT_EQ(communicators[0].name, "pair");
  EXPECT_EQ(communicators[0].size, 2);
  EXPECT_EQ(communicators[0].stride, 2);
  EXPECT_EQ(communicators[0].operations, (std::vector{Operation::all_reduce, Operation::all_gather}));
  auto ops = step.ops();
  ASSERT_EQ(ops.size(), 5U);  // a kernel, a gather, a barrier, a kernel, the end
  EXPECT_EQ(ops[2].operation, Operation::all_reduce);
  EXPECT_EQ(ops[2].bytes, Bytes(4));
  EXPECT_TRUE(ops[3].after.empty()) << "it waited for a group of one";
}

TEST(RecordedTrace, GradientsComeAsTheHooksSayWithoutWhatBucketsCopy) {
  auto copy = kernel(kBackward, 0, "mul");
  Step step({kernel(kForward), kernel(kForward), kernel(kBackward), RecordedGradient{1}, copy,
             launch(Operation::all_reduce, 8, {4}), kernel(kBackward), RecordedGradient{0}, copy,
             RecordedWait{{5}, 0}, kernel(kBackward, 0, "copy_"), kernel(kOptimizer)});
  auto recording = std::make_shared<Recording>(*step.step.recording);
  recording->parameters = {{"first", 3, "float32", true, {3}}, {"second", 2, "float32", true, {2}}};
  step.step.recording = recording;
  auto trace = recorded_trace({std::make_shared<const RecordedStep>(step.step)});
  EXPECT_EQ(trace.forward, Seconds(2));
  EXPECT_EQ(trace.optimizer, Seconds(1));
  ASSERT_EQ(trace.gradients.size(), 2U);
  EXPECT_EQ(trace.gradients[0].name, "second");
  EXPECT_EQ(trace.gradients[0].ready, Seconds(1));
  EXPECT_EQ(trace.gradients[1].ready, Seconds(2));
  EXPECT_EQ(trace.registration_order, (std::vector<std::size_t>{1, 0}));
}

// Without hooks a gradient is there when the backward pass of its module has ended; of several micro-batches
// the time of all of them counts.
TEST(RecordedTrace, GradientsComeWithTheirModules) {
  auto of = [](RecordedPhase phase, std::size_t module) {
    auto op = kernel(phase);
    op.module = module;
    return op;
  };
  Step step({of(kForward, 1), of(kBackward, 1), of(kForward, 1), of(kForward, 2), of(kBackward, 2),
             of(kBackward, 1)});
  auto recording = std::make_shared<Recording>(*step.step.recording);
  recording->modules = {"", "blocks.0", "blocks.1"};
  recording->parameters = {{"blocks.0.up.weight", 3, "bfloat16", true, {3}},
                           {"blocks.1.up.weight", 2, "bfloat16", true, {2}},
                           {"frozen.weight", 2, "bfloat16", false, {2}}};
  step.step.recording = recording;
  EXPECT_EQ(recording->micro_batches(), 2);
  auto trace = recorded_trace({std::make_shared<const RecordedStep>(step.step)});
  EXPECT_EQ(trace.forward, Seconds(3));
  ASSERT_EQ(trace.gradients.size(), 2U);
  EXPECT_EQ(trace.gradients[0].name, "blocks.1.up.weight");
  EXPECT_EQ(trace.gradients[0].ready, Seconds(2));
  EXPECT_EQ(trace.gradients[1].ready, Seconds(3));
}

}  // namespace
}  // namespace ddpsim::testing
