// Which events belong to which training step.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/trace/import/profiler_trace.hpp"

namespace ddpsim {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using testing::ProfilerTrace;
using testing::shaped;

// Forward from 5, backward from 10, gradients complete at 20, 30 ... us after `at`.
void add_step(ProfilerTrace& trace, double at, int gradients = 1) {
  trace.annotation("DistributedDataParallel.forward", at + 5, at + 9).node(at + 10, at + 11);
  for (int k = 0; k < gradients; ++k)
    trace.gradient(at + 10 * k + 15, at + 10 * k + 20, at + 10 * k + 21, shaped("[3]"));
}

TEST(ProfilerStepWindows, EndWithTheOptimizerWithoutAnnotations) {
  ProfilerTrace trace;
  add_step(trace, 0);
  trace.annotation("Optimizer.step#Adam.step", 40, 50);
  add_step(trace, 100);
  trace.annotation("Optimizer.step#Adam.step", 140, 154);
  auto imported = trace.imported();
  EXPECT_EQ(imported.trace.gradients.size(), 1u);
  EXPECT_EQ(imported.trace.optimizer, Seconds(12e-6));
  EXPECT_THAT(imported.trace.metadata.notes, Contains(HasSubstr("2 recorded steps, step 1 to step 2")));
}

TEST(ProfilerStepWindows, AreTheWholeTraceWithOneBackwardPass) {
  ProfilerTrace trace;
  add_step(trace, 0, 3);
  EXPECT_EQ(trace.imported().trace.gradients.size(), 3u);
  add_step(trace, 100, 3);
  EXPECT_EQ(trace.error(),
            "trace.json: error: has 2 backward passes and nothing that says where steps end\n"
            "hint: call prof.step() after each training step");
}

// Gradient accumulation: the first pass (under no_sync) reduces nothing. Forward of the last one is 10 - 5.
TEST(ProfilerStepWindows, OfSeveralBackwardPassesTheLastCounts) {
  ProfilerTrace trace;
  trace.annotation("ProfilerStep#7", 0, 300);
  add_step(trace, 0, 2);
  add_step(trace, 100, 2);
  trace.all_reduce(130.5, 131, 140, 6);
  auto imported = trace.imported();
  ASSERT_EQ(imported.trace.gradients.size(), 2u);
  EXPECT_EQ(imported.trace.gradients[1].ready, Seconds(20e-6));
  EXPECT_EQ(imported.trace.forward, Seconds(5e-6));
  EXPECT_THAT(imported.remarks,
              Contains("ProfilerStep#7 has 2 backward passes (gradient accumulation?); the last "
                       "one counts"));
  EXPECT_TRUE(imported.communication.has_value());
}

// Without DistributedDataParallel.forward the operators that autograd records tell passes apart; those inside
// nodes (recomputation) and on another thread (loading data) do not.
TEST(ProfilerStepWindows, ForwardOperatorsTellPassesApart) {
  ProfilerTrace trace;
  trace.annotation("ProfilerStep#1", 0, 300);
  trace.forward_operator(2).node(10, 14).gradient(15, 20, 21, shaped("[3]"));
  trace.forward_operator(32).forward_operator(33).node(40, 50);
  for (int k = 0; k < 5; ++k) trace.event("cpu_op", "aten::mm", 41 + k, 1, 2, R"("Sequence number": 9)");
  trace.event("cpu_op", "aten::pin_memory", 52, 1, 3, R"("Sequence number": 9)");
  trace.gradient(55, 60, 61, shaped("[3]"));
  auto imported = trace.imported();
  ASSERT_EQ(imported.trace.gradients.size(), 1u);
  EXPECT_EQ(imported.trace.gradients[0].ready, Seconds(20e-6));
  EXPECT_EQ(imported.trace.forward, Seconds(8e-6));
  EXPECT_THAT(imported.remarks, Contains(HasSubstr("has 2 backward passes")));
}

// torch.autograd.grad(..., retain_graph=True) and then backward(): the graph is evaluated twice, and the
// second time is the backward pass.
TEST(ProfilerStepWindows, ANodeEvaluatedAgainIsOfAnotherPass) {
  ProfilerTrace trace;
  auto evaluate = [&](double start, double end, int sequence) {
    trace.event("cpu_op", "autograd::engine::evaluate_function: MmBackward0", start, end - start, 2,
                fmt::format(R"("Sequence number": {}, "Fwd thread id": 1)", sequence));
  };
  trace.annotation("ProfilerStep#1", 0, 100).forward_operator(2);
  evaluate(10, 12, 8);
  evaluate(12, 14, 7);
  evaluate(20, 24, 8);
  evaluate(24, 25, 7);
  trace.gradient(25, 30, 31, shaped("[3]"));
  auto imported = trace.imported();
  ASSERT_EQ(imported.trace.gradients.size(), 1u);
  EXPECT_EQ(imported.trace.gradients[0].ready, Seconds(10e-6));  // 30 - 20
  EXPECT_EQ(imported.trace.forward, Seconds(18e-6));             // 20 - 2
}

TEST(ProfilerStepWindows, StepsWithoutBackwardAreLeftOut) {
  ProfilerTrace trace;
  trace.annotation("ProfilerStep#1", 0, 99).annotation("ProfilerStep#2", 100, 199);
  add_step(trace, 100);
  EXPECT_THAT(trace.imported().remarks, Contains("ProfilerStep#1 was left out: no backward pass in it"));
}

TEST(ProfilerStepWindows, TheOddOneIsLeftOut) {
  ProfilerTrace trace;
  for (int k = 0; k < 3; ++k) {
    trace.annotation(fmt::format("ProfilerStep#{}", k), 100 * k, 100 * k + 99);
    add_step(trace, 100 * k, k == 2 ? 1 : 2);  // the last one was cut off
  }
  auto imported = trace.imported();
  EXPECT_EQ(imported.trace.gradients.size(), 2u);
  EXPECT_THAT(
      imported.remarks,
      Contains("ProfilerStep#2 was left out: it does not have the same gradients as the other steps"));
  EXPECT_THAT(imported.trace.metadata.notes,
              Contains(HasSubstr("2 recorded steps, ProfilerStep#0 to ProfilerStep#1")));
}

TEST(ProfilerStepWindows, WithoutAMajorityThereIsNoOddOne) {
  ProfilerTrace trace;
  for (int k = 0; k < 2; ++k) {
    trace.annotation(fmt::format("ProfilerStep#{}", k), 100 * k, 100 * k + 99);
    add_step(trace, 100 * k, k + 2);
  }
  EXPECT_EQ(
      trace.error(),
      "trace.json: error: the steps do not have the same gradients: ProfilerStep#0 has 2 and ProfilerStep#1 "
      "has 3\n"
      "hint: profile steps that train the same parameters, after a warm-up of a few");
}

TEST(ProfilerStepWindows, ABackwardPassWithoutGradientsIsNone) {
  ProfilerTrace trace;
  trace.forward_operator(1).node(2, 3);
  EXPECT_EQ(trace.error(),
            "trace.json: error: has no backward pass that completes gradients: no "
            "'torch::autograd::AccumulateGrad'\n"
            "hint: profile whole training steps");
}

TEST(ProfilerStepWindows, SeveralOptimizersAddUp) {
  ProfilerTrace trace;
  trace.annotation("ProfilerStep#1", 0, 300);
  add_step(trace, 0);
  trace.annotation("Optimizer.step#Adam.step", 40, 50).annotation("Optimizer.step#SGD.step", 60, 63);
  EXPECT_EQ(trace.imported().trace.optimizer, Seconds(13e-6));
}

}  // namespace
}  // namespace ddpsim
