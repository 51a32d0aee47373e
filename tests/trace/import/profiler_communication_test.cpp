// Which of a trace's collectives are the all-reduces of DDP's buckets, and how many ranks they have.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/trace/import/profiler_trace.hpp"

namespace ddpsim {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using testing::ProfilerTrace;
using testing::shaped;

// An all-reduce of `ranks`, launched on `thread`, which runs from one us after its launch for two.
void add_all_reduce(ProfilerTrace& trace, double launch, std::int64_t elements, int ranks, int thread = 2) {
  trace.launched("cudaLaunchKernelExC", launch, thread)
      .gpu("kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(x)", launch + 1, launch + 3, 40,
           fmt::format(
               R"(, "Collective name": "allreduce", "In msg nelems": {}, "dtype": "Float", "Group size": {})",
               elements, ranks));
}

TEST(ProfilerGroups, AreThoseOfTheBuckets) {
  ProfilerTrace trace;
  add_all_reduce(trace, 5, 500, 8, 1);  // tensor parallelism in the forward pass
  trace.node(10, 12).gradient(20, 21, 30, shaped("[3]"));
  add_all_reduce(trace, 22, 3, 2);
  auto imported = trace.imported();
  ASSERT_TRUE(imported.communication.has_value());
  EXPECT_EQ(imported.communication->world_size, 2);
  EXPECT_THAT(imported.trace.metadata.notes, Contains("Recorded on one rank, NCCL 2.21.5, 2 ranks."));
}

// Experts are reduced by other ranks than what all of them share.
TEST(ProfilerGroups, OfDifferentSizesGiveNoCommunication) {
  ProfilerTrace trace;
  trace.node(10, 12).gradient(20, 21, 30, shaped("[3]")).gradient(40, 41, 50, shaped("[4]"));
  add_all_reduce(trace, 22, 3, 8);
  add_all_reduce(trace, 42, 4, 2);
  auto imported = trace.imported();
  EXPECT_EQ(imported.trace.gradients.size(), 2u);
  EXPECT_FALSE(imported.communication.has_value());
  EXPECT_THAT(imported.remarks, Contains("the recorded all-reduces were left out: groups of different sizes "
                                         "reduce (2, 8 ranks)"));
}

// A sparse embedding's gradient, or one that is undefined, has no shape: all others keep theirs as long as
// DDP's all-reduces hold exactly them.
TEST(ProfilerShapes, OneMayBeMissing) {
  auto with = [](std::int64_t reduced) {
    ProfilerTrace trace;
    trace.node(10, 12).gradient(20, 21, 30, shaped("[3]")).gradient(40, 41, 50, shaped("[]", ""));
    trace.gradient(60, 61, 70, shaped("[4]"));
    add_all_reduce(trace, 62, reduced, 8);
    return trace.imported();
  };
  auto imported = with(7);
  ASSERT_EQ(imported.trace.gradients.size(), 2U);
  EXPECT_EQ(imported.trace.gradients[0].elements, 3);
  EXPECT_EQ(imported.trace.gradients[1].elements, 4);
  EXPECT_THAT(imported.remarks,
              Contains("1 of 3 gradients has no shape, and DDP's all-reduces hold exactly the "
                       "others: undefined, or sparse; left out"));
  imported = with(9);
  EXPECT_EQ(imported.trace.gradients.size(), 1U);
  EXPECT_THAT(imported.remarks,
              Contains("1 of 3 gradients has no shape, and the others have 7 elements where DDP's "
                       "all-reduces hold 9"));
  EXPECT_THAT(imported.remarks,
              Contains("not all gradients' sizes are known: each of DDP's buckets became one "
                       "gradient, which other bucket caps cannot split"));
}

TEST(ProfilerBuckets, AreNotWhatOtherNodesLaunch) {
  ProfilerTrace trace;  // a no_sync step with tensor parallelism
  trace.node(10, 18);
  add_all_reduce(trace, 12, 777, 8);
  trace.gradient(19, 20, 25, shaped("[1000]"));
  auto imported = trace.imported();
  EXPECT_FALSE(imported.communication.has_value());
  EXPECT_THAT(imported.remarks,
              Contains("1 collective of a backward pass that reduces no bucket of DDP was left out"));
  ProfilerTrace without_shapes;
  without_shapes.node(10, 18);
  add_all_reduce(without_shapes, 12, 777, 8);
  without_shapes.gradient(19, 20, 25);
  EXPECT_THAT(without_shapes.error(), HasSubstr("says nothing of its gradients' sizes"));
}

// The first iteration with static_graph=True: the callback after the last node (which ends at 45) launches.
// Time zero is 10, the last gradient ready at 41.
TEST(ProfilerBuckets, MayBeLaunchedByTheCallbackAfterBackward) {
  for (bool shapes : {true, false}) {
    ProfilerTrace trace;
    trace.node(10, 12).gradient(20, 21, 25, shapes ? shaped("[3]") : "");
    trace.gradient(40, 41, 45, shapes ? shaped("[4]") : "");
    add_all_reduce(trace, 50, 7, 4);
    trace.annotation("Optimizer.step#SGD.step", 60, 70);
    auto imported = trace.imported();
    EXPECT_EQ(imported.trace.gradients.size(), shapes ? 2u : 1u);
    ASSERT_TRUE(imported.communication.has_value());
    EXPECT_EQ(imported.communication->collectives.at(0).ready, Seconds(31e-6));
    EXPECT_EQ(imported.communication->collectives.at(0).start, Seconds(41e-6));
    EXPECT_EQ(imported.trace.optimizer, Seconds(10e-6));
  }
}

// Not on the thread of the main program (the mean of the loss, for the log), and not once the optimizer runs.
TEST(ProfilerBuckets, AreNotWhatIsLaunchedAfterBackward) {
  for (auto [launch, thread] : {std::pair{50, 1}, {65, 2}}) {
    ProfilerTrace trace;
    trace.annotation("ProfilerStep#1", 0, 100).node(10, 12).gradient(20, 21, 25, shaped("[3]"));
    add_all_reduce(trace, launch, 3, 4, thread);
    trace.annotation("Optimizer.step#SGD.step", 60, 70);
    EXPECT_FALSE(trace.imported().communication.has_value());
  }
}

TEST(ProfilerBuckets, OfGradientsThatTheyDoNotHoldAreRemarkedOn) {
  ProfilerTrace trace;
  trace.node(10, 12).gradient(20, 21, 25, shaped("[3]"));
  add_all_reduce(trace, 23, 4, 4);  // in the gradient's hook
  auto imported = trace.imported();
  EXPECT_TRUE(imported.communication.has_value());
  EXPECT_THAT(
      imported.remarks,
      Contains("DDP's all-reduces hold 4 elements and the gradients 3: every tensor that requires a "
               "gradient counts, such as an input, or that of a block under reentrant checkpointing"));
}

TEST(ProfilerBuckets, WithoutHooksMustHoldTheGradients) {
  ProfilerTrace trace;
  trace.node(10, 12).gradient(20, 21, 25, shaped("[3]"));
  add_all_reduce(trace, 30, 4, 4);
  auto imported = trace.imported();
  EXPECT_FALSE(imported.communication.has_value());
  EXPECT_THAT(imported.remarks,
              Contains("the recorded all-reduces were left out: no gradient's hook launched them, and they "
                       "hold 4 elements while the gradients have 3"));
}

// Old ones, symmetric ones, and what only its args give away: none of them is compute, which ends at 13.
TEST(ProfilerCollectives, AreRecognizedByEveryNameOfNccl) {
  for (const auto* name :
       {"ncclAllReduceRingLLKernel_sum_f32(ncclColl)", "ncclSymkDevKernel_AllReduce_RSxLD_AGxST_sum_f32(x)",
        "mscclKernel_Sum_float(x)"}) {
    ProfilerTrace trace;
    trace.node(10, 12).kernel(11, 11.5, 13).gradient(20, 21, 30, shaped("[3]"));
    trace.launched("cudaLaunchKernel", 22, 2)
        .gpu("kernel", name, 23, 9000, 40,
             R"(, "Collective name": "allreduce", "In msg nelems": 3, "dtype": "Float", "Group size": 2)");
    auto imported = trace.imported();
    EXPECT_EQ(imported.trace.gradients.at(0).ready, Seconds(11e-6)) << name;
    ASSERT_TRUE(imported.communication.has_value()) << name;
    EXPECT_EQ(imported.communication->collectives.at(0).end, Seconds(8990e-6)) << name;
  }
}

// cudaLaunchKernelExC and the cuLaunchKernelEx inside it. Of the two the outer one is the launch, and the
// gradient ready at 40: were it the inner one, at 20.5, it would be ready at 20.
TEST(ProfilerLaunches, MayBeRecordedTwice) {
  for (bool outer_first : {true, false}) {
    ProfilerTrace trace;
    auto outer = [&] { trace.event("cuda_runtime", "cudaLaunchKernelExC", 18, 3, 2, R"("correlation": 9)"); };
    trace.node(10, 12);
    if (outer_first) outer();
    trace.event("cuda_driver", "cuLaunchKernelEx", 20.5, 0.2, 2, R"("correlation": 9)");
    if (!outer_first) outer();
    trace.event("kernel", "gemm", 25, 15, 7, R"("device": 0, "stream": 7, "correlation": 9)");
    trace.gradient(19, 20, 22, shaped("[3]"));
    EXPECT_EQ(trace.imported().trace.gradients.at(0).ready, Seconds(30e-6));
  }
}

}  // namespace
}  // namespace ddpsim
