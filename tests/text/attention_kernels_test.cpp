#include "sim/text/attention_kernels.hpp"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/base/source.hpp"
#include "sim/text/gpu_file.hpp"
#include "sim/text/software_file.hpp"

#include "tests/support/temporary_folder.hpp"

namespace ddpsim::testing {
namespace {

Software with(const std::string& kernel, const std::string& gpu) {
  Software software{.attention = 0.7, .narrow_heads = 0.5, .attention_ramp = 9};
  take_kernel(software, {kernel, whole_file(make_source("k", kernel))}, gpu);
  return software;
}

TEST(AttentionKernels, AreThoseOfTheGpusName) {
  auto hopper = with("cudnn9", "NVIDIA H100 SXM5 80GB");
  EXPECT_EQ(hopper.attention, 0.583);
  EXPECT_EQ(hopper.attention_ramp, 997);
  EXPECT_TRUE(hopper.is_kernel_for_gpu);
  EXPECT_EQ(with("cudnn9", "NVIDIA GB200 186GB").attention, 0.630);
  EXPECT_EQ(with("cudnn9", "NVIDIA B200 SXM 180GB").attention, 0.530);
  EXPECT_EQ(with("fa2", "NVIDIA H100 SXM5 96GB 500W").attention, 0.302);
  // Nothing is left of the kernel before.
  auto triton = with("triton-2023", "NVIDIA A100 SXM4 40GB");
  EXPECT_EQ(triton.attention_ramp, 0);
  EXPECT_EQ(triton.narrow_heads, 1);
}

TEST(AttentionKernels, OfGpusThatATableLacksAreTheLastOnes) {
  auto elsewhere = with("cudnn9", "NVIDIA L40S");
  EXPECT_EQ(elsewhere.attention, with("cudnn9", "NVIDIA H100 SXM5 80GB").attention);
  EXPECT_FALSE(elsewhere.is_kernel_for_gpu);
}

TEST(AttentionKernels, FlashKeepsTheSoftwaresOwnShareAndUnfusedHasNone) {
  EXPECT_EQ(with("flash", "NVIDIA A100").attention, 0.7);
  EXPECT_TRUE(with("flash", "NVIDIA A100").flash);
  EXPECT_FALSE(with("unfused", "NVIDIA A100").flash);
}

// An entry's own number goes first.
TEST(AttentionKernels, OfASoftwareFile) {
  TemporaryFolder folder;
  auto path = folder.write("s.yaml",
                           "kind: software\nname: x\nattention: fa2\nhost: 1us\n"
                           "gpus:\n  H100: {gemm: 0.7}\n  A100: {gemm: 0.7, attention: 0.4}\n");
  EXPECT_EQ(read_software(path, "NVIDIA H100 SXM5 80GB").attention, 0.332);
  EXPECT_EQ(read_software(path, "NVIDIA A100 SXM4 80GB").attention, 0.4);
}

// Whatever the table has is of a GPU that has a file.
TEST(AttentionKernels, EveryEntryIsRead) {
  for (const auto& kernel : attention_kernels()) {
    int known = 0;
    for (const auto& entry : std::filesystem::directory_iterator(DDPSIM_SOURCE_DIR "/gpus")) {
      auto software = with(kernel, read_gpu(entry.path()).name);
      EXPECT_GT(software.attention, 0.1) << kernel;
      EXPECT_LT(software.attention, 0.8) << kernel;
      known += software.is_kernel_for_gpu;
    }
    EXPECT_GE(known, 1) << kernel;
  }
}

}  // namespace
}  // namespace ddpsim::testing
