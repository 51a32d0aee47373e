// Traces event by event; times are in us.
#include "sim/calibrate/profiled_work.hpp"

#include <gtest/gtest.h>

#include "tests/support/temporary_folder.hpp"
#include "tests/trace/import/profiler_trace.hpp"

namespace ddpsim::calibrate {
namespace {

using ddpsim::testing::ProfilerTrace;
using ddpsim::testing::TemporaryFolder;

class Steps : public ProfilerTrace {
 public:
  Steps& kernel_of(const std::string& name, double start, double end, int grid = 1, int stream = 7,
                   int shared_memory = 0) {
    launched("cudaLaunchKernel", start - 0.6, 1);
    gpu("kernel", name, start, end, stream,
        fmt::format(R"(, "grid": [{}, 1, 1], "block": [128, 1, 1], "shared memory": {})", grid,
                    shared_memory));
    return *this;
  }
  Steps& all_reduce_of(std::int64_t elements, double start, double end) {
    all_reduce(start - 0.6, start, end, elements);
    return *this;
  }
  [[nodiscard]] ProfiledWork work(std::optional<BytesPerSecond> algbw = std::nullopt) const {
    TemporaryFolder folder;
    return profiled_work(pytorch_profiler::read_profile(folder.write("trace.json", text()), {}), algbw);
  }
};

double us(Seconds time) {
  return 1e6 * time.value();
}

TEST(ProfiledWork, HowMuchOfAKernelIsBesideCollectives) {
  auto work = Steps()
                  .kernel_of("a", 10, 20)
                  .kernel_of("a", 20, 40)
                  .kernel_of("a", 40, 50)
                  .all_reduce_of(9, 25, 46)
                  .work();
  ASSERT_EQ(work.kernels.size(), 3u);
  EXPECT_EQ(us(work.kernels[0].beside), 0);
  EXPECT_NEAR(us(work.kernels[1].duration), 20, 1e-9);
  EXPECT_NEAR(us(work.kernels[1].beside), 15, 1e-9);
  EXPECT_NEAR(us(work.kernels[2].beside), 6, 1e-9);
  ASSERT_EQ(work.collectives.size(), 1u);
  EXPECT_NEAR(us(work.collectives[0].duration), 21, 1e-9);
  EXPECT_NEAR(us(work.collectives[0].beside), 21, 1e-9);
  EXPECT_NEAR(us(work.in_flight), 21, 1e-9);
}

TEST(ProfiledWork, ALaunchShapeIsPartOfWhatAKernelIs) {
  auto kernels = Steps()
                     .kernel_of("a", 10, 20)
                     .kernel_of("a", 20, 30, 2)
                     .kernel_of("a", 30, 40, 1, 7, 1024)
                     .kernel_of("b", 40, 50)
                     .kernel_of("a", 50, 60)
                     .work()
                     .kernels;
  for (int i = 1; i < 4; ++i) EXPECT_NE(kernels[0].kind, kernels[i].kind) << i;
  EXPECT_EQ(kernels[0].kind, kernels[4].kind);
}

// The first two steps launch "a" twice, the third once.
TEST(ProfiledWork, APlaceInTheStepIsTheSameWork) {
  Steps steps;
  for (double start : {0.0, 100.0, 200.0})
    steps.annotation(fmt::format("ProfilerStep#{}", start), start, start + 100);
  auto kernels = steps.kernel_of("a", 10, 20)
                     .kernel_of("a", 30, 40)
                     .kernel_of("a", 110, 120)
                     .kernel_of("b", 120, 130)
                     .kernel_of("a", 130, 140)
                     .kernel_of("a", 210, 220)
                     .work()
                     .kernels;
  auto place = [&](std::size_t i) { return kernels[i].identities.front(); };
  EXPECT_EQ(place(0), place(2));
  EXPECT_EQ(place(1), place(4));
  EXPECT_NE(place(0), place(1));
  EXPECT_NE(place(0), place(5));
}

// A kernel that the CPU launched in one step and the GPU ran in the next belongs to the first.
TEST(ProfiledWork, TheLaunchSaysWhichStep) {
  Steps steps;
  steps.annotation("ProfilerStep#1", 0, 100).annotation("ProfilerStep#2", 100, 200);
  steps.kernel_of("a", 10, 20)
      .launched("cudaLaunchKernel", 90, 1)
      .gpu("kernel", "a", 120, 130, 7, R"(, "grid": [1, 1, 1], "block": [128, 1, 1])");
  auto kernels = steps.kernel_of("a", 150, 160).work().kernels;
  EXPECT_EQ(kernels[1].identities.front(), (WorkIdentity{0, kernels[1].kind, 2, 1}));
  EXPECT_EQ(kernels[2].identities.front(), (WorkIdentity{0, kernels[1].kind, 1, 0}));
}

// The same kernel in two layers that are alike, and in one that is not.
TEST(ProfiledWork, NeighboursTellLayersApart) {
  Steps steps;
  double at = 10;
  for (const auto* layers :
       {"x", "p", "q", "a", "r", "s", "p", "q", "a", "r", "s", "p", "q", "a", "r", "t"}) {
    steps.kernel_of(layers, at, at + 5);
    steps.kernel_of("other stream", at, at + 5, 1, 20);
    at += 10;
  }
  std::vector<TimedWork> kernels;
  for (const auto& kernel : steps.work().kernels) kernels.push_back(kernel);
  auto neighbours = [&](std::size_t i) { return kernels[i].identities.back(); };  // stream 7 comes first
  EXPECT_EQ(neighbours(3), neighbours(8));
  EXPECT_NE(neighbours(3), neighbours(13));
  EXPECT_NE(neighbours(1), neighbours(6));
}

TEST(ProfiledWork, OtherStreamsDisturb) {
  Steps steps;
  steps.kernel_of("a", 10, 20).kernel_of("b", 15, 25, 1, 20).kernel_of("a", 30, 40);
  steps.launched("cudaMemcpyAsync", 35, 1).gpu("gpu_memcpy", "Memcpy HtoD", 36, 38, 21, R"(, "bytes": 4096)");
  steps.kernel_of("a", 50, 60)
      .launched("cudaMemcpyAsync", 60, 1)
      .gpu("gpu_memcpy", "Memcpy HtoD", 60, 70, 21, R"(, "bytes": 4096)");
  auto kernels = steps.work().kernels;
  ASSERT_EQ(kernels.size(), 4u);
  EXPECT_TRUE(kernels[0].disturbed);
  EXPECT_TRUE(kernels[1].disturbed);
  EXPECT_FALSE(kernels[2].disturbed);
  EXPECT_TRUE(kernels[3].disturbed);
}

TEST(ProfiledWork, CollectivesOfOneSizeAreTheSame) {
  auto collectives = Steps()
                         .kernel_of("a", 1, 2)
                         .all_reduce_of(100, 10, 20)
                         .all_reduce_of(200, 20, 40)
                         .all_reduce_of(100, 40, 50)
                         .work()
                         .collectives;
  EXPECT_EQ(collectives[0].identities, collectives[2].identities);
  EXPECT_NE(collectives[0].identities, collectives[1].identities);
}

// A million float32 at 40 GB/s take 100 us: of 300 us in flight the first 200 are waiting.
TEST(ProfiledWork, WhatAnAllReduceWaitsDoesNotCount) {
  auto steps = Steps()
                   .kernel_of("a", 10, 20)
                   .kernel_of("a", 110, 120)
                   .kernel_of("a", 290, 310)
                   .kernel_of("a", 350, 360)
                   .all_reduce_of(1'000'000, 100, 400);
  auto work = steps.work(BytesPerSecond(40e9));
  EXPECT_FALSE(work.kernels[0].disturbed);
  EXPECT_TRUE(work.kernels[1].disturbed);
  EXPECT_EQ(us(work.kernels[1].beside), 0);
  EXPECT_FALSE(work.kernels[2].disturbed);
  EXPECT_NEAR(us(work.kernels[2].beside), 10, 1e-9);
  EXPECT_NEAR(us(work.kernels[3].beside), 10, 1e-9);
  EXPECT_NEAR(us(work.in_flight), 300, 1e-9);
  EXPECT_NEAR(us(work.waiting), 200, 1e-9);
  EXPECT_EQ(us(steps.work().waiting), 0);
  EXPECT_EQ(us(steps.work(BytesPerSecond(10e9)).waiting), 0);
}

// Three steps of a gemm of 100 us and an elementwise kernel of 20, s = 0.4 for the one and 0.9 for the other,
// with the all-reduce in another place each time; in the third it runs alone.
TEST(ProfiledWork, KnownSlowdownsComeBack) {
  Steps steps;
  steps.annotation("ProfilerStep#1", 0, 1000);
  steps.kernel_of("gemm", 10, 150).kernel_of("add", 150, 170).all_reduce_of(500, 10, 150);
  steps.annotation("ProfilerStep#2", 1000, 2000);
  steps.kernel_of("gemm", 1010, 1110).kernel_of("add", 1110, 1148).all_reduce_of(500, 1110, 1250);
  steps.annotation("ProfilerStep#3", 2000, 3000);
  steps.kernel_of("gemm", 2010, 2110).kernel_of("add", 2110, 2130).all_reduce_of(500, 2200, 2300);
  auto work = steps.work();
  auto kernels = fit_slowdown(work.kernels);
  EXPECT_NEAR(kernels.slowdown, (40.0 + 18) / 120, 1e-9);  // (140 + 38) / 120 - 1
  EXPECT_NEAR(kernels.lower_quartile, 0.4, 1e-9);
  EXPECT_EQ(kernels.compared.count, 2u);
  // All of 140 us beside the gemm, of which 100 are work; then 38 beside the other kernel, of 140: 80 us lost
  // of 178.
  auto collectives = fit_slowdown(work.collectives);
  EXPECT_EQ(collectives.compared.count, 2u);
  EXPECT_NEAR(collectives.slowdown, 80.0 / (178 - 80), 1e-9);
}

}  // namespace
}  // namespace ddpsim::calibrate
