// What of a step is the optimizer, and what is forward, in traces small enough to count by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/trace/import/profiler_trace.hpp"

namespace ddpsim {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;
using testing::ProfilerTrace;
using testing::shaped;

// Forward from 100 to 1000 on the GPU, backward to 2000, its only all-reduce from 2000 to 50000. On the CPU
// backward ends at 260.
ProfilerTrace trace_of_backward(double at = 0) {
  ProfilerTrace trace;
  trace.annotation("DistributedDataParallel.forward", at + 100, at + 200)
      .kernel(at + 110, at + 120, at + 1000, 1);
  trace.node(at + 210, at + 230).kernel(at + 215, at + 1000, at + 2000);
  trace.gradient(at + 245, at + 250, at + 260, shaped("[1000]"));
  return trace.all_reduce(at + 255, at + 2000, at + 50000, 1000);
}

// gradient_as_bucket_view=True: nothing on the compute stream before the optimizer's kernel waits for NCCL.
// 51000 - 50000, not 51000 - 2000.
TEST(ProfilerOptimizer, BeginsAfterTheAllReduces) {
  auto trace = trace_of_backward();
  trace.annotation("Optimizer.step#SGD.step", 300, 400).kernel(350, 50010, 51000, 1);
  auto imported = trace.imported();
  EXPECT_EQ(imported.trace.optimizer, Seconds(1000e-6));
  EXPECT_EQ(imported.trace.forward, Seconds(900e-6));
  EXPECT_EQ(imported.trace.gradients.at(0).ready, Seconds(1000e-6));
  ASSERT_TRUE(imported.communication.has_value());
  EXPECT_EQ(imported.communication->collectives.at(0).end, Seconds(49000e-6));
}

// With copies back its stream has waited: 51000 - 50010.
TEST(ProfilerOptimizer, BeginsAfterTheCopiesBack) {
  auto trace = trace_of_backward();
  trace.event("cpu_op", "torch.distributed.ddp.reducer::copy_bucket_to_grad", 270, 5, 2);
  trace.launched("cudaMemcpyAsync", 271, 2)
      .gpu("gpu_memcpy", "Memcpy DtoD", 50000, 50010, 7, R"(, "bytes": 4000)");
  trace.annotation("Optimizer.step#SGD.step", 300, 400).kernel(350, 50010, 51000, 1);
  EXPECT_EQ(trace.imported().trace.optimizer, Seconds(990e-6));
}

// An optimizer without kernels of its own takes no time, rather than less than none.
TEST(ProfilerOptimizer, DoesNotEndBeforeItBegins) {
  auto trace = trace_of_backward();
  trace.annotation("Optimizer.step#SGD.step", 300, 400);
  EXPECT_EQ(trace.imported().trace.optimizer, Seconds(0));
}

// Lightning's automatic optimization: forward and backward run in the closure of Optimizer.step.
TEST(ProfilerOptimizer, DoesNotHoldTheClosuresBackwardPass) {
  auto trace = trace_of_backward();
  trace.annotation("Optimizer.step#SGD.step", 50, 400).kernel(350, 50010, 51000, 1);
  auto imported = trace.imported();
  EXPECT_EQ(imported.trace.optimizer, Seconds(1000e-6));
  EXPECT_EQ(imported.trace.forward, Seconds(900e-6));
  EXPECT_TRUE(imported.communication.has_value());
}

// Without a GPU: backward ends at 21, the optimizer at 50.
TEST(ProfilerOptimizer, OfAClosureBeginsWhereBackwardEnds) {
  ProfilerTrace trace;
  trace.annotation("Optimizer.step#LBFGS.step", 1, 50).forward_operator(5);
  trace.node(10, 11).gradient(15, 20, 21, shaped("[3]"));
  EXPECT_EQ(trace.imported().trace.optimizer, Seconds(29e-6));
}

// LBFGS calls its closure again and again: 90 - 61.
TEST(ProfilerOptimizer, OfSeveralClosuresBeginsWhereTheLastBackwardEnds) {
  ProfilerTrace trace;
  trace.annotation("ProfilerStep#1", 0, 100).annotation("Optimizer.step#LBFGS.step", 1, 90);
  for (double at : {0.0, 40.0})
    trace.forward_operator(at + 5).node(at + 10, at + 11).gradient(at + 15, at + 20, at + 21, shaped("[3]"));
  EXPECT_EQ(trace.imported().trace.optimizer, Seconds(29e-6));
}

// ZeroRedundancyOptimizer: 50000 to 51000, once; and one step, not two.
TEST(ProfilerOptimizer, IsCountedOnceWhereItIsNested) {
  auto trace = trace_of_backward();
  trace.annotation("Optimizer.step#ZeroRedundancyOptimizer.step", 300, 500);
  trace.annotation("Optimizer.step#Adam.step", 310, 490).kernel(350, 50010, 51000, 1);
  auto imported = trace.imported();
  EXPECT_EQ(imported.trace.optimizer, Seconds(1000e-6));
  EXPECT_THAT(imported.trace.metadata.notes, Contains("One recorded step, step 1."));
}

// register_post_accumulate_grad_hook: in the nodes of two gradients, and one between them.
TEST(ProfilerOptimizer, InTheBackwardPassIsBackward) {
  for (bool annotated : {true, false}) {
    ProfilerTrace trace;
    if (annotated) trace.annotation("ProfilerStep#1", 0, 500);
    trace.annotation("DistributedDataParallel.forward", 1, 5).node(10, 12);
    for (double at : {20.0, 70.0}) {
      trace.gradient(at, at + 5, at + 40, shaped("[3]"));
      trace.event("user_annotation", "Optimizer.step#SGD.step", at + 10, 25, 2);
    }
    if (annotated) trace.annotation("Optimizer.step#SGD.step", 61, 69);
    auto imported = trace.imported();
    EXPECT_EQ(imported.trace.optimizer, std::nullopt);
    EXPECT_EQ(imported.trace.gradients.size(), 2u);
    EXPECT_EQ(imported.trace.gradients.back().ready, Seconds(65e-6));
    EXPECT_THAT(imported.remarks,
                Contains("an optimizer runs in gradients' hooks, inside the backward pass: that part of it "
                         "counts as backward"));
  }
}

// The first runs in a hook; the second, of what has none, from 200 to 230 on its own.
TEST(ProfilerOptimizer, OutsideOfTheBackwardPassStillCounts) {
  ProfilerTrace trace;
  trace.forward_operator(5).node(10, 12).gradient(20, 25, 60, shaped("[3]"));
  trace.event("user_annotation", "Optimizer.step#SGD.step", 30, 25, 2);
  trace.annotation("Optimizer.step#SGD.step", 200, 230);
  EXPECT_EQ(trace.imported().trace.optimizer, Seconds(30e-6));
}

// On the GPU the step ends with the optimizer at 71000 + 100000 k. Forward 900, backward and its all-reduce
// 49000, the optimizer 1000; 20000 for clipping, and what was between the last optimizer and forward: of step
// 2 100000 - 50900 = 49100. Nothing says where step 1 begins, so that it has no length.
TEST(ProfilerStepLength, IsComparedWithWhatIsCounted) {
  ProfilerTrace trace;
  for (double at : {0.0, 100000.0}) {
    trace.annotation("DistributedDataParallel.forward", at + 100, at + 200)
        .kernel(at + 110, at + 120, at + 1000, 1);
    trace.node(at + 210, at + 230).kernel(at + 215, at + 1000, at + 2000);
    trace.gradient(at + 245, at + 250, at + 260, shaped("[1000]"))
        .all_reduce(at + 255, at + 2000, at + 50000, 1000);
    trace.kernel(at + 280, at + 50000, at + 70000, 1);
    trace.annotation("Optimizer.step#SGD.step", at + 300, at + 400)
        .kernel(at + 350, at + 70000, at + 71000, 1);
  }
  EXPECT_THAT(
      trace.imported().remarks,
      Contains("49.1 ms of a step's 100 ms are neither forward, backward, its all-reduces nor the optimizer "
               "(DDP's copies out of its buckets, clipping gradients, logging, loading data?) and belong to "
               "nothing here"));
}

// A step of 1000 us without a GPU. Nothing counts before forward begins at 20, between the end of backward at
// 500 and the optimizer at 510, and after the optimizer: 49 us, or 51, which is more than 5 %.
TEST(ProfilerStepLength, MayBeAFewPercentMore) {
  for (auto [optimizer_end, much] : {std::pair{981, false}, {979, true}}) {
    ProfilerTrace trace;
    trace.annotation("ProfilerStep#1", 0, 1000).forward_operator(20).node(30, 32);
    trace.gradient(490, 500, 505, shaped("[3]")).annotation("Optimizer.step#SGD.step", 510, optimizer_end);
    auto remark = Contains(HasSubstr("0.051 ms of a step's 1 ms are neither"));
    if (much)
      EXPECT_THAT(trace.imported().remarks, remark);
    else
      EXPECT_THAT(trace.imported().remarks, Not(Contains(HasSubstr("of a step's"))));
  }
}

// A validation pass in the step: forward is 1000 to 2000, not 12 to 2000.
TEST(ProfilerForward, IsTheLastBeforeBackward) {
  ProfilerTrace trace;
  trace.annotation("ProfilerStep#1", 0, 3000);
  trace.annotation("DistributedDataParallel.forward", 10, 20).kernel(11, 12, 900, 1);
  trace.annotation("DistributedDataParallel.forward", 1000, 1200).kernel(1100, 1110, 2000, 1);
  trace.node(1300, 1310).kernel(1305, 2000, 2100).gradient(1320, 1330, 1340, shaped("[3]"));
  auto imported = trace.imported();
  EXPECT_EQ(imported.trace.forward, Seconds(1000e-6));
  EXPECT_THAT(
      imported.remarks,
      Contains("ProfilerStep#1 calls DistributedDataParallel.forward 2 times before its backward pass: "
               "only the last call counts as forward, which is too little unless the others are a "
               "validation pass (contrastive training, a GAN?)"));
}

// What a wrapped module's forward calls is part of it: 10 - 1.
TEST(ProfilerForward, MayHoldAnother) {
  ProfilerTrace trace;
  trace.annotation("DistributedDataParallel.forward", 1, 9)
      .annotation("DistributedDataParallel.forward", 3, 5);
  trace.node(10, 12).gradient(20, 21, 22, shaped("[3]"));
  auto imported = trace.imported();
  EXPECT_EQ(imported.trace.forward, Seconds(9e-6));
  EXPECT_THAT(imported.remarks, Not(Contains(HasSubstr("2 times"))));
}

// The profiler began within the first step, after its forward pass.
TEST(ProfilerForward, MayBeMissingInTheFirstStep) {
  ProfilerTrace trace;
  trace.node(10, 12).gradient(15, 20, 21, shaped("[3]"));
  trace.annotation("DistributedDataParallel.forward", 101, 105);
  trace.annotation("Optimizer.step#SGD.step", 40, 50);
  trace.node(110, 112).gradient(115, 120, 121, shaped("[3]"));
  auto imported = trace.imported();
  EXPECT_EQ(imported.trace.forward, Seconds(9e-6));
  EXPECT_THAT(imported.remarks, Not(Contains(HasSubstr("was not recorded and counts"))));
}

}  // namespace
}  // namespace ddpsim
