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
  EXPECT_EQ(gpus.size(), 17U);
  for (const auto& [file, gpu] : gpus) {
    SCOPED_TRACE(file);
    EXPECT_TRUE(names.insert(gpu.name).second);
    EXPECT_THAT(gpu.multiprocessors, ::testing::AllOf(::testing::Ge(40), ::testing::Le(200)));
    EXPECT_THAT(gpu.memory.value(), ::testing::AllOf(::testing::Ge(16e9), ::testing::Le(270e9)));
    // A pass over the whole memory takes 18 to 61 ms on every GPU of these years.
    EXPECT_THAT((gpu.memory / gpu.memory_bandwidth).value(),
                ::testing::AllOf(::testing::Ge(0.018), ::testing::Le(0.061)));
    EXPECT_GT(peak_of(gpu, DType::float16), peak_of(gpu, DType::float32));
    if (gpu.peak.contains(Precision::bfloat16)) {
      EXPECT_EQ(peak_of(gpu, DType::bfloat16), peak_of(gpu, DType::float16));
    }
  }
}

TEST(GpuFiles, OnlyVoltaAndTuringHaveNoBfloat16) {
  for (const auto& [file, gpu] : all_gpus())
    EXPECT_EQ(gpu.peak.contains(Precision::bfloat16), file != "v100-sxm2-32gb" && file != "t4") << file;
}

// 16,896 cores x 2 operations x 1.98 GHz = 66.9 TFLOP/s.
TEST(GpuFiles, CoresTimesClockIsThePeak) {
  EXPECT_NEAR(all_gpus().at("h100-sxm").peak.at(Precision::float32).value(), 16896 * 2 * 1.98e9, 0.05e12);
}

}  // namespace
}  // namespace ddpsim
