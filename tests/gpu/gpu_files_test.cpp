// The files of gpus/.
#include <filesystem>
#include <set>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/gpu/gpu_description.hpp"
#include "sim/text/gpu_file.hpp"

namespace ddpsim {
namespace {

std::map<std::string, GpuDescription> all_gpus() {
  std::map<std::string, GpuDescription> gpus;
  for (const auto& entry : std::filesystem::directory_iterator(DDPSIM_SOURCE_DIR "/gpus"))
    gpus.emplace(entry.path().stem().string(), read_gpu(entry.path().string()));
  return gpus;
}

TEST(GpuFiles, AllAreReadAndPlausible) {
  std::set<std::string> names;
  auto gpus = all_gpus();
  EXPECT_EQ(gpus.size(), 42U);
  for (const auto& [file, gpu] : gpus) {
    SCOPED_TRACE(file);
    EXPECT_TRUE(names.insert(gpu.name).second);
    EXPECT_THAT(gpu.multiprocessors, ::testing::AllOf(::testing::Ge(40), ::testing::Le(304)));
    EXPECT_THAT(gpu.memory.value(), ::testing::AllOf(::testing::Ge(16e9), ::testing::Le(288e9)));
    // A pass over the whole memory takes 17.5 to 81 ms on every GPU of these years.
    EXPECT_THAT((gpu.memory / gpu.memory_bandwidth).value(),
                ::testing::AllOf(::testing::Ge(0.0175), ::testing::Le(0.081)));
    EXPECT_GT(peak_of(gpu, DType::float16), peak_of(gpu, DType::float32));
    if (gpu.peak.contains(Precision::bfloat16)) {
      EXPECT_EQ(peak_of(gpu, DType::bfloat16), peak_of(gpu, DType::float16));
    }
  }
}

// Words that find another GPU of the same architecture.
TEST(GpuFiles, TheSameChipIsAnothers) {
  auto gpus = all_gpus();
  int said = 0;
  for (const auto& entry : gpus)
    for (const auto& word : entry.second.same_chip) {
      ++said;
      EXPECT_EQ(entry.second.name.find(word), std::string::npos) << entry.first;
      EXPECT_TRUE(std::ranges::any_of(gpus,
                                      [&](const auto& other) {
                                        return other.second.name.find(word) != std::string::npos &&
                                               other.second.architecture == entry.second.architecture;
                                      }))
          << entry.first << " " << word;
    }
  EXPECT_EQ(said, 15);
}

// Pascals name no architecture: NCCL's tuner counts none.
TEST(GpuFiles, OnlyPascalVoltaAndTuringHaveNoBfloat16) {
  for (const auto& [file, gpu] : all_gpus())
    EXPECT_EQ(gpu.peak.contains(Precision::bfloat16),
              !gpu.architecture.empty() && gpu.architecture != "volta" && gpu.architecture != "turing")
        << file;
}

// Cores of a multiprocessor (64 until Ampere's first chip, then 128) x 2 operations x boost clock: 132 x 128
// x 2 x 1.98 GHz = 66.9 TFLOP/s of an H100. A compute unit's matrix cores multiply and add 128 pairs of
// float32 a clock: 304 x 128 x 2 x 2.1 GHz = 163.4 TFLOP/s of an MI300X.
TEST(GpuFiles, CoresTimesClockIsThePeak) {
  auto gpus = all_gpus();
  struct Clock {
    const char* gpu;
    int cores;
    double ghz;
  };
  for (auto [gpu, cores, ghz] : {Clock{"h100-sxm", 128, 1.98},      Clock{"h100-pcie", 128, 1.755},
                                 Clock{"rtx-3090", 128, 1.695},     Clock{"rtx-a5000", 128, 1.695},
                                 Clock{"rtx-a6000", 128, 1.8},      Clock{"a10", 128, 1.695},
                                 Clock{"a40", 128, 1.74},           Clock{"l4", 128, 2.04},
                                 Clock{"l40", 128, 2.49},           Clock{"v100-sxm2-16gb", 64, 1.53},
                                 Clock{"v100-pcie-16gb", 64, 1.38}, Clock{"h100-nvl", 128, 1.776},
                                 Clock{"titan-rtx", 64, 1.77},      Clock{"rtx-5090", 128, 2.407},
                                 Clock{"mi250x", 128, 1.7},         Clock{"mi300x", 128, 2.1},
                                 Clock{"mi325x", 128, 2.1},         Clock{"mi355x", 128, 2.4},
                                 Clock{"p100-sxm2-16gb", 64, 1.48}, Clock{"p100-pcie-16gb", 64, 1.3}}) {
    const auto& described = gpus.at(gpu);
    EXPECT_NEAR(described.peak.at(Precision::float32) /
                    FlopsPerSecond(described.multiprocessors * cores * 2 * ghz * 1e9),
                1, 0.005)
        << gpu;
  }
}

// GA102 on workstations and in servers computes four times as much on tensor cores as without; GeForce and
// the A10G twice, with float32 accumulation.
TEST(GpuFiles, TensorCoresByTheBoard) {
  auto gpus = all_gpus();
  for (auto [gpu, times] : {std::pair("rtx-a5000", 4.0),
                            {"rtx-a6000", 4.0},
                            {"a10", 4.0},
                            {"a40", 4.0},
                            {"rtx-3090", 2.0},
                            {"a10g", 2.0},
                            {"l4", 4.0},
                            {"l40s", 4.0},
                            {"l40", 2.0},
                            {"rtx-4090", 2.0},
                            {"rtx-5090", 2.0}}) {
    const auto& peak = gpus.at(gpu).peak;
    EXPECT_NEAR(peak.at(Precision::bfloat16) / peak.at(Precision::float32), times, 0.05) << gpu;
  }
}

// Of CDNA 2 to 4 a compute unit does 1024, 2048 and 4096 operations a clock in 16 bits, so 4, 8 and 16 times
// those of its float32.
TEST(GpuFiles, MatrixCoresByTheArchitecture) {
  auto gpus = all_gpus();
  for (auto [gpu, times] : {std::pair("mi250x", 4.0), {"mi300x", 8.0}, {"mi325x", 8.0}, {"mi355x", 16.0}}) {
    const auto& peak = gpus.at(gpu).peak;
    EXPECT_NEAR(peak.at(Precision::bfloat16) / peak.at(Precision::float32), times, 0.01) << gpu;
  }
}

}  // namespace
}  // namespace ddpsim
