#include "sim/gpu/plausible_compute.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace ddpsim {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

GpuDescription gpu() {
  GpuDescription gpu;
  gpu.name = "NVIDIA A100 SXM4 80GB";
  gpu.peak = {{Precision::float32, FlopsPerSecond(20e12)}, {Precision::bfloat16, FlopsPerSecond(312e12)}};
  return gpu;
}

// 4 x 1e9 x 4096 operations: 16.4 TFLOP/s in a second.
LayerTrace trace_of(Seconds backward) {
  LayerTrace trace;
  trace.metadata.device = "NVIDIA A100-PG509-200";
  trace.metadata.batch_size = 4;
  trace.metadata.sequence_length = 1024;
  trace.gradients.push_back({.name = "a", .elements = 1'000'000'000, .ready = backward, .ready_spread = {}});
  trace.registration_order = {0};
  return trace;
}

std::vector<std::string> texts(const LayerTrace& trace) {
  std::vector<std::string> texts;
  for (const auto& note : compute_notes(trace, gpu())) texts.push_back(note.text);
  return texts;
}

TEST(PlausibleCompute, BetweenThreePercentOfOnePeakAndAllOfTheHighest) {
  EXPECT_THAT(texts(trace_of(Seconds(1))), IsEmpty());
  EXPECT_THAT(texts(trace_of(Seconds(0.053))), IsEmpty());  // 309 TFLOP/s
  EXPECT_THAT(texts(trace_of(Seconds(27))), IsEmpty());     // 0.607 TFLOP/s, 3.03 %
}

TEST(PlausibleCompute, BeyondThem) {
  EXPECT_THAT(
      texts(trace_of(Seconds(0.01))),
      ElementsAre(
          "the backward pass would compute 1.64e+03 TFLOP/s, 525 % of what NVIDIA A100 SXM4 80GB can: are "
          "ready_s in seconds, elements and the batch those of one GPU?"));
  EXPECT_THAT(
      texts(trace_of(Seconds(1000))),
      ElementsAre(
          "the backward pass would compute 0.0164 TFLOP/s, 0.0819 % of what NVIDIA A100 SXM4 80GB can: are "
          "ready_s in seconds, elements and the batch those of one GPU?"));
}

TEST(PlausibleCompute, OnlyOfTheGpuThatComputedIt) {
  auto trace = trace_of(Seconds(0.01));
  trace.metadata.device = "NVIDIA H100";
  EXPECT_THAT(texts(trace), IsEmpty());
  trace.metadata.device.reset();
  EXPECT_THAT(texts(trace), IsEmpty());
}

TEST(PlausibleCompute, IsDevice) {
  EXPECT_TRUE(is_device("NVIDIA A100-PG509-200", "NVIDIA A100 SXM4 80GB"));
  EXPECT_FALSE(is_device("Intel Xeon", "NVIDIA A100 SXM4 80GB"));
  EXPECT_TRUE(is_device("2 nodes of 8xA100, RTX4090", "NVIDIA A100 SXM4 80GB"));
  EXPECT_TRUE(is_device("2 nodes of 8xA100, RTX4090", "NVIDIA GeForce RTX 4090"));
  EXPECT_FALSE(is_device("NVIDIA GB200", "NVIDIA B200 SXM 180GB"));
  EXPECT_FALSE(is_device("NVIDIA H200", "NVIDIA H20 96GB"));
  EXPECT_TRUE(is_device("AMD Instinct Mi325X VF", "AMD Instinct MI325X"));
}

}  // namespace
}  // namespace ddpsim
