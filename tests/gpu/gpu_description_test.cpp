#include "sim/gpu/gpu_description.hpp"

#include <gtest/gtest.h>

#include "tests/gpu/texts.hpp"

namespace ddpsim {
namespace {

using testing::gpu_of;
using testing::kSmallGpu;

TEST(GpuDescription, EveryKey) {
  auto gpu = gpu_of(
      "kind: gpu\n"
      "name: NVIDIA H100 SXM5 80GB\n"
      "multiprocessors: 132\n"
      "memory: 80GB\n"
      "memory_bandwidth: 3.35TB/s\n"
      "peak: {float32: 66.9TFLOP/s, bfloat16: 989.4TFLOP/s, float16: 989.4TFLOP/s, float64: 66.9TFLOP/s}\n"
      "copy: {efficiency: 0.5, launch: 3us}\n"
      "interference: {compute: [0.1, 0.2], collective: [0, 0.3]}\n");
  EXPECT_EQ(gpu.name, "NVIDIA H100 SXM5 80GB");
  EXPECT_EQ(gpu.multiprocessors, 132);
  EXPECT_EQ(gpu.memory, Bytes(80e9));
  EXPECT_DOUBLE_EQ(gpu.memory_bandwidth.value(), 3.35e12);
  EXPECT_EQ(gpu.peak.size(), 4U);
  EXPECT_DOUBLE_EQ(gpu.peak.at(Precision::float32).value(), 66.9e12);
  EXPECT_DOUBLE_EQ(gpu.peak.at(Precision::bfloat16).value(), 989.4e12);
  EXPECT_EQ(gpu.copy_efficiency, 0.5);
  EXPECT_DOUBLE_EQ(gpu.copy_launch.value(), 3e-6);
  EXPECT_EQ(gpu.compute_slowdown, (Range{0.1, 0.2}));
  EXPECT_EQ(gpu.collective_slowdown, (Range{0, 0.3}));
}

TEST(GpuDescription, DefaultsAreThePublishedFits) {
  auto gpu = gpu_of(kSmallGpu);
  EXPECT_EQ(gpu.copy_efficiency, 0.67);
  EXPECT_EQ(gpu.copy_launch, Seconds(5e-6));
  EXPECT_EQ(gpu.compute_slowdown, (Range{0.1, 0.65}));
  EXPECT_EQ(gpu.collective_slowdown, (Range{0.1, 0.65}));
}

TEST(GpuDescription, PartOfASectionLeavesTheRest) {
  auto gpu = gpu_of(kSmallGpu + "copy: {launch: 0us}\ninterference: {compute: [0.26, 0.26]}\n");
  EXPECT_EQ(gpu.copy_efficiency, 0.67);
  EXPECT_EQ(gpu.copy_launch, Seconds());
  EXPECT_EQ(gpu.compute_slowdown, (Range{0.26, 0.26}));
  EXPECT_EQ(gpu.collective_slowdown, (Range{0.1, 0.65}));
}

TEST(GpuDescription, PeakOfAType) {
  auto gpu = gpu_of(kSmallGpu);
  EXPECT_EQ(peak_of(gpu, DType::float32), FlopsPerSecond(1e12));
  EXPECT_EQ(testing::input_error([&] { peak_of(gpu, DType::bfloat16); }),
            "error: Small has no peak for bfloat16\n"
            "hint: its file has one for float32");
}

}  // namespace
}  // namespace ddpsim
