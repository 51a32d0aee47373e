// When gradients are ready, and how long forward and optimizer take, in traces small enough to count by hand.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/trace/import/profiler_trace.hpp"

namespace ddpsim {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using testing::ProfilerTrace;
using testing::shaped;

constexpr double kMicrosecond = 1e-6;
constexpr double kNanosecond = 1e-9;

// Two gradients. Backward begins at 210 on the CPU, while the GPU is busy with the forward kernel until 260:
// an event recorded at 210 fires at 260, which is time zero. The first gradient is complete on the CPU at 250
// and on the GPU at 400, when the kernel launched at 215 ends: 400 - 260 = 140. The second one's kernel ends
// at 420, before the CPU is done at 510: 510 - 260 = 250. Forward begins at 100 with an idle GPU: 260 - 100.
// The optimizer begins at 600; its kernel ends at 800, after the call at 700: 800 - 600.
void add_step(ProfilerTrace& trace, double at, double second_gradient = 510) {
  trace.annotation("DistributedDataParallel.forward", at + 100, at + 200)
      .kernel(at + 110, at + 120, at + 260, 1);
  trace.node(at + 210, at + 230).kernel(at + 215, at + 260, at + 400);
  trace.gradient(at + 245, at + 250, at + 260, shaped("[10, 3]"));
  trace.node(at + 270, at + 290).kernel(at + 275, at + 400, at + 420);
  trace.gradient(at + 500, at + second_gradient, at + second_gradient + 5, shaped("[7]", "c10::Half"));
  trace.annotation("Optimizer.step#SGD.step", at + 600, at + 700).kernel(at + 650, at + 655, at + 800, 1);
}

TEST(ProfilerTimes, AnEventFiresWhenCpuAndGpuAreThere) {
  ProfilerTrace trace;
  add_step(trace, 0);
  auto imported = trace.imported().trace;
  ASSERT_EQ(imported.gradients.size(), 2u);
  EXPECT_NEAR(imported.gradients[0].ready.value(), 140 * kMicrosecond, kNanosecond / 2);
  EXPECT_NEAR(imported.gradients[1].ready.value(), 250 * kMicrosecond, kNanosecond / 2);
  EXPECT_NEAR(imported.forward.value().value(), 160 * kMicrosecond, kNanosecond / 2);
  EXPECT_NEAR(imported.optimizer.value().value(), 200 * kMicrosecond, kNanosecond / 2);
  EXPECT_EQ(imported.gradients[0].ready_spread, std::nullopt);
  EXPECT_EQ(imported.registration_order, reverse_of_arrival(2));
  EXPECT_EQ(imported.metadata.device, "NVIDIA X");
}

// The forward kernel runs until all is over, and backward launches none: events fire together when it ends.
TEST(ProfilerTimes, OfABackwardPassWithoutKernelsAreRefused) {
  ProfilerTrace trace;
  trace.annotation("DistributedDataParallel.forward", 100, 200).kernel(110, 120, 10000, 1);
  trace.node(210, 230);
  trace.gradient(245, 250, 260, shaped("[10, 3]"));
  EXPECT_THAT(
      [&] { (void)trace.imported(); },
      ::testing::ThrowsMessage<InputError>(HasSubstr("all gradients are ready as the backward pass begins")));
}

// Work on another stream than the one that computes does not hold a gradient up.
TEST(ProfilerTimes, OnlyTheComputeStreamCounts) {
  ProfilerTrace trace;
  trace.launched("cudaMemcpyAsync", 205, 1).gpu("gpu_memcpy", "Memcpy HtoD", 206, 9000, 20, "");
  add_step(trace, 0);
  EXPECT_NEAR(trace.imported().trace.gradients[0].ready.value(), 140 * kMicrosecond, kNanosecond / 2);
}

// Six kernels of 1 us on stream 7, one of 300 us on stream 9, which therefore computes: 400 - 10. Of the 306
// us 6 are elsewhere, 2 %; with a further 20 us it is 26 of 326, 8 %. What forward launches does not count.
TEST(ProfilerTimes, TheComputeStreamIsTheBusiest) {
  for (bool more : {false, true}) {
    ProfilerTrace trace;
    trace.launched("cudaLaunchKernel", 1, 1).gpu("kernel", "gemm", 1, 9, 8, "");
    trace.node(10, 90).launched("cudaLaunchKernel", 20, 2).gpu("kernel", "gemm", 100, 400, 9, "");
    for (int k = 0; k < 6; ++k) trace.kernel(30 + k, 30 + k, 31 + k);
    if (more) trace.kernel(40, 40, 60);
    trace.gradient(95, 96, 97, shaped("[3]"));
    auto imported = trace.imported();
    EXPECT_EQ(imported.trace.gradients.at(0).ready, Seconds(390e-6));
    auto remark = Contains(
        "8 % of the kernels' time in the backward pass was on other streams than the compute "
        "stream: gradients computed there count as ready too early");
    if (more)
      EXPECT_THAT(imported.remarks, remark);
    else
      EXPECT_THAT(imported.remarks, ::testing::Not(Contains(HasSubstr("on other streams"))));
  }
}

// An event waits for all that was launched before it, not for the last launch only: until 700, 700 - 260.
TEST(ProfilerTimes, AllWorkLaunchedBeforeCounts) {
  ProfilerTrace trace;
  add_step(trace, 0);
  trace.kernel(212, 230, 700);
  EXPECT_EQ(trace.imported().trace.gradients[0].ready, Seconds(440e-6));
}

// Timestamps since 1970 have 16 digits before the point: nothing of the microseconds is lost.
TEST(ProfilerTimes, AreExactFarFromZero) {
  ProfilerTrace trace;
  auto at = [](double time) { return 1.7e15 + time; };
  trace.node(at(0), at(10)).gradient(at(20), at(21), at(22), shaped("[1]"));
  EXPECT_EQ(trace.imported().trace.gradients[0].ready, Seconds(21e-6));
}

// The second gradients' ready times are 250, 240 + 40 k: medians, means and deviations over the steps.
class ProfilerSteps : public ::testing::Test {
 protected:
  // Ready after 250, 250, 310 us: mean 270, median 250, deviation sqrt((400 + 400 + 1600) / 2) = 34.641.
  ProfilerSteps() {
    int k = 0;
    for (double end : {510, 510, 570}) {
      trace.annotation(fmt::format("ProfilerStep#{}", k), 1000 * k, 1000 * k + 900);
      add_step(trace, 1000 * k, end);
      ++k;
    }
  }
  ProfilerTrace trace;
};

TEST_F(ProfilerSteps, AreSummedUpAsMedians) {
  auto gradient = trace.imported().trace.gradients.at(1);
  EXPECT_EQ(gradient.ready, Seconds(250e-6));
  EXPECT_NEAR(gradient.ready_spread.value().value(), 34.641016e-6, kNanosecond);
  EXPECT_EQ(trace.imported("median").trace.gradients.at(1).ready, Seconds(250e-6));
}

TEST_F(ProfilerSteps, OrAsMeans) {
  auto imported = trace.imported("mean").trace;
  EXPECT_EQ(imported.gradients.at(1).ready, Seconds(270e-6));
  EXPECT_EQ(imported.gradients.at(0).ready, Seconds(140e-6));
  EXPECT_EQ(imported.forward, Seconds(160e-6));
}

TEST_F(ProfilerSteps, AreSaidInTheHeader) {
  EXPECT_THAT(
      trace.imported().trace.metadata.notes,
      Contains("3 recorded steps, ProfilerStep#0 to ProfilerStep#2; times are their medians, ready_std_s is "
               "the deviation over them."));
}

TEST(ProfilerTimes, AnEvenNumberOfStepsHasAMedianBetween) {
  ProfilerTrace trace;
  add_step(trace, 0, 510);
  add_step(trace, 1000, 530);
  auto gradient = trace.imported().trace.gradients.at(1);
  EXPECT_EQ(gradient.ready, Seconds(260e-6));
  EXPECT_NEAR(gradient.ready_spread.value().value(), 14.142136e-6, kNanosecond);
}

// Of [260, 510] kernels ran in [260, 420]: 64 %.
TEST(ProfilerTimes, AnIdleGpuIsPointedOut) {
  ProfilerTrace busy;
  add_step(busy, 0);
  EXPECT_THAT(busy.imported().trace.metadata.notes,
              Contains("A compute kernel ran for 64 % of the backward pass."));
  EXPECT_THAT(busy.imported().remarks, ::testing::IsEmpty());
  ProfilerTrace idle;  // of [260, 950] those and the optimizer's in [655, 800]: 44 %
  add_step(idle, 0, 950);
  EXPECT_THAT(idle.imported().remarks,
              Contains(HasSubstr("the GPU computed for only 44 % of the backward pass")));
}

TEST(ProfilerTimes, WithoutAGpuTheyAreTheCpus) {
  ProfilerTrace trace;
  trace.forward_operator(5).node(10, 20).gradient(30, 35, 36, shaped("[4]"));
  auto imported = trace.imported();
  EXPECT_EQ(imported.trace.gradients[0].ready, Seconds(25e-6));
  EXPECT_EQ(imported.trace.forward, Seconds(5e-6));
  EXPECT_EQ(imported.trace.optimizer, std::nullopt);
  EXPECT_THAT(imported.remarks,
              ::testing::ElementsAre("no GPU kernels were recorded: times are those of the CPU",
                                     "the optimizer was not recorded and counts as zero"));
}

}  // namespace
}  // namespace ddpsim
