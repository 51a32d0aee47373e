// On a GPU, where there is one and this LibTorch has CUDA; elsewhere these tests skip.
#include "traces/capture/cuda_device.hpp"

#include "traces/capture/capture.hpp"
#include <gmock/gmock.h>
#include <torch/torch.h>

#include "sim/base/backend_missing.hpp"
#include "sim/base/source.hpp"

namespace ddpsim {
namespace {

class OnAGpu : public ::testing::Test {
 protected:
  void SetUp() override {
    try {
      require_cuda();
    } catch (const BackendMissing& missing) {
      GTEST_SKIP() << missing.what();
    }
  }
};

// A product of 8192 x 8192 is 1.1 TFLOP, some milliseconds on any GPU; an event right after another is
// microseconds later.
TEST_F(OnAGpu, EventsMeasureTheGpuAndNotTheCallsToIt) {
  auto a = torch::rand({8192, 8192}, torch::kCUDA);
  auto clock = make_cuda_clock(3);
  for (int warm_up = 0; warm_up < 2; ++warm_up) {
    clock->mark(0);
    torch::mm(a, a);
    clock->mark(1);
    clock->mark(2);
    clock->times();
  }
  auto times = clock->times();
  EXPECT_EQ(times[0], Seconds(0));
  EXPECT_GT(times[1], Seconds(1e-4));
  EXPECT_GE(times[2], times[1]);
  EXPECT_LT((times[2] - times[1]) / times[1], 0.5);
}

TEST_F(OnAGpu, HasANameAndADriver) {
  auto device = describe_cuda();
  EXPECT_FALSE(device.name.empty());
  ASSERT_EQ(device.notes.size(), 2U);
  EXPECT_TRUE(device.notes[0].starts_with("CUDA runtime "));
}

TEST_F(OnAGpu, CapturesGpt2InBothPrecisions) {
  for (const char* precision : {"float32", "bfloat16"}) {
    CaptureOptions options;
    options.device = "cuda";
    options.precision = precision;
    options.batch = 1;
    options.sequence = 64;
    options.iterations = 3;
    options.quiet = true;
    auto trace = capture(options).trace;
    ASSERT_EQ(trace.gradients.size(), 148U);
    EXPECT_EQ(trace.gradients.back().name, "transformer.wte.weight");
    EXPECT_GT(trace.gradients.front().ready, Seconds(0));
    EXPECT_GT(*trace.forward, Seconds(0));
    EXPECT_GT(*trace.optimizer, Seconds(0));
  }
}

TEST_F(OnAGpu, WhatDoesNotFitSaysSo) {
  CaptureOptions options;
  options.device = "cuda";
  options.batch = 100'000;
  options.quiet = true;
  EXPECT_THAT(
      [&] { capture(options); },
      ::testing::ThrowsMessage<InputError>(::testing::HasSubstr("does not fit into the memory of this GPU")));
}

}  // namespace
}  // namespace ddpsim
