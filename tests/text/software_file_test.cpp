#include "sim/text/software_file.hpp"

#include <filesystem>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/errors.hpp"
#include "tests/support/temporary_folder.hpp"

namespace ddpsim::testing {
namespace {

using namespace literals;
using ::testing::ElementsAre;

Software read(const std::string& text, const std::string& gpu = "NVIDIA A100 SXM4 80GB") {
  TemporaryFolder folder;
  return read_software(folder.write("s.yaml", text), gpu);
}

std::string error_of(const std::string& text) {
  TemporaryFolder folder;
  auto path = folder.write("s.yaml", text);
  return folder.without_folder(brief_error([&] { read_software(path, "NVIDIA A100"); }));
}

const std::string kTwo =
    "kind: software\n"
    "name: mine\n"
    "attention: flash\n"
    "host: 20us\n"
    "gpus:\n"
    "  A100: {gemm: 0.8, attention: 0.3}\n"
    "  H100: {gemm: 0.7, attention: 0.2, host: 10us}\n";

TEST(SoftwareFile, EveryKey) {
  Software expected{.name = "mine",
                    .gemm = 0.8,
                    .attention = 0.3,
                    .gemm_fp32 = 0.6,
                    .gemm_tf32 = 0.5,
                    .narrow_heads = 0.7,
                    .attention_ramp = 800,
                    .elementwise = 1.7,
                    .host = 20_us,
                    .queue = 2,
                    .memory = 0.9,
                    .k_ramp = 100,
                    .unaligned = 0.4,
                    .unaligned_attention = 0.2,
                    .fp8_cast = 4,
                    .loss_bytes = 30,
                    .rotary_bytes = 120,
                    .weight_cast = 12,
                    .optimizer_bytes = 28,
                    .flash = false,
                    .early_stop = true,
                    .repeats_keys = true,
                    .judged_error = 0.05,
                    .fitted_on = "A100",
                    .ranks = 64,
                    .spread = 0.03,
                    .types = {Precision::float16, Precision::float8},
                    .scope = {128, 4},
                    .memory_use = {1.2, Bytes(2e9), 10, 3, true, true, true}};
  EXPECT_EQ(read("kind: software\n"
                 "name: mine\n"
                 "attention: unfused\n"
                 "host: 20us\n"
                 "early_stop: true\n"
                 "repeats_keys: true\n"
                 "ranks: 64\n"
                 "spread: 0.03\n"
                 "scope: {gpus: 128, tensor: 4}\n"
                 "gpus:\n"
                 "  A100: {gemm: 0.8, attention: 0.3, elementwise: 1.7, queue: 2, memory: 0.9, k_ramp: 100,\n"
                 "         unaligned: 0.4, unaligned_attention: 0.2, fp8_cast: 4, loss_bytes: 30,\n"
                 "         gemm_fp32: 0.6, gemm_tf32: 0.5, attention_ramp: 800, narrow_heads: 0.7, "
                 "rotary_bytes: 120, weight_cast: 12,\n"
                 "         optimizer_bytes: 28, judged_error: 0.05, types: [fp16, fp8]}\n"
                 "memory_use: {fragmentation: 1.2, overhead: 2GB, logit_bytes: 10, gated_values: 3, "
                 "expands_keys: true, "
                 "dropout: true, transformer_engine: true}\n"),
            expected);
}

TEST(SoftwareFile, TheEntryWhoseWordStandsInTheGpusName) {
  auto software = read(kTwo, "NVIDIA H100 SXM5 80GB");
  EXPECT_EQ(software.gemm, 0.7);
  EXPECT_EQ(software.host, 10_us);  // its own
  EXPECT_TRUE(software.is_for_gpu);
  EXPECT_EQ(read(kTwo, "NVIDIA A100").gemm, 0.8);
}

// An H200 is an H100 with another memory; its own entry would come first.
TEST(SoftwareFile, ElseThatOfTheSameChip) {
  TemporaryFolder folder;
  auto path = folder.write("s.yaml", kTwo);
  auto software = read_software(path, {"NVIDIA A800", {"A100"}});
  EXPECT_EQ(software.gemm, 0.8);
  EXPECT_EQ(software.fitted_on, "A100");
  EXPECT_FALSE(software.is_for_gpu);
  EXPECT_TRUE(software.is_for_chip);
  EXPECT_TRUE(read_software(path, {"NVIDIA H100", {"A100"}}).is_for_gpu);
}

TEST(SoftwareFile, ElseTheLastAndItSaysSo) {
  auto software = read(kTwo, "NVIDIA B200");
  EXPECT_EQ(software.gemm, 0.7);
  EXPECT_EQ(software.fitted_on, "H100");
  EXPECT_FALSE(software.is_for_gpu);
}

TEST(SoftwareFile, ItsGpus) {
  TemporaryFolder folder;
  EXPECT_THAT(software_gpus(folder.write("s.yaml", kTwo)), ElementsAre("A100", "H100"));
}

TEST(SoftwareFile, TheShippedOnesAreRead) {
  int read = 0;
  double least = 1, most = 0;
  for (const auto& entry : std::filesystem::directory_iterator(DDPSIM_SOURCE_DIR "/software")) {
    auto software = read_software(entry.path(), "NVIDIA H100");
    EXPECT_EQ(software.name, entry.path().stem());
    for (const auto& gpu : software_gpus(entry.path())) {
      if (!read_software(entry.path(), gpu).derived_from.empty()) continue;
      double gemm = read_software(entry.path(), gpu).gemm;
      least = std::min(least, gemm);
      most = std::max(most, gemm);
    }
    ++read;
  }
  EXPECT_EQ((Range{least, most}), kShippedGemm);
  EXPECT_EQ(read, 12);
}

// Whatever the file says, defaults too.
TEST(SoftwareFile, IsReadAsItWasWritten) {
  TemporaryFolder folder;
  for (const auto& entry : std::filesystem::directory_iterator(DDPSIM_SOURCE_DIR "/software"))
    for (const auto& gpu : software_gpus(entry.path())) {
      auto software = read_software(entry.path(), gpu);
      software.judged_error.reset();
      if (!software.derived_from.empty())  // a step of such a GPU may have changed it
        software.derived_from = "", software.is_for_gpu = software.is_kernel_for_gpu = true,
        software.fitted_on = gpu;
      auto path = folder.write("again.yaml", write_software(software, gpu, "one\ntwo"));
      EXPECT_EQ(read_software(path, gpu), software) << entry.path() << " " << gpu;
    }
}

TEST(SoftwareFile, Refused) {
  EXPECT_EQ(
      error_of("kind: software\nname: x\nattention: flash\nhost: 1us\ngpus: {A100: {gem: 0.8}}\n"),
      "s.yaml:5:15-17: unknown key 'gem'; did you mean 'gemm'?; 'A100' knows gemm, gemm_fp32, gemm_tf32, "
      "attention, attention_ramp, narrow_heads, elementwise, memory, queue, k_ramp, unaligned, "
      "unaligned_attention, fp8_cast, loss_bytes, rotary_bytes, weight_cast, optimizer_bytes, host, types, "
      "judged_error, derived_from");
  EXPECT_EQ(
      error_of("kind: software\nname: x\nattention: flash\nhost: 1us\ngpus: {A100: {attention: 0.8}}\n"),
      "s.yaml:5:14: nothing says what share of the peak products reach; add gemm: 0.7");
  EXPECT_EQ(error_of("kind: software\nname: x\nattention: flash\nhost: 1us\ngpus: {A100: {gemm: 0.8}}\n"),
            "s.yaml:5:14: nothing says what share of the peak the flash kernel reaches; add attention: 0.3, "
            "or say which kernel it is: attention: fa2");
  EXPECT_EQ(error_of("kind: software\nname: x\nattention: flash\nhost: 1us\ngpus: {A100: {gemm: 0}}\n"),
            "s.yaml:5:21: nothing would ever end; write a number above 0");
  EXPECT_EQ(error_of("kind: software\nname: x\nattention: flash\nhost: 1us\ngpus: {}\n"),
            "s.yaml:5:7: 'gpus' is a map from a GPU's name to its shares; write it like H100: {gemm: 0.74}");
  EXPECT_EQ(error_of("kind: software\nname: x\nattention: flash\nhost: 1us\ngpus: [A100]\n"),
            "s.yaml:5:7: 'gpus' is a map from a GPU's name to its shares; write it like H100: {gemm: 0.74}");
}

}  // namespace
}  // namespace ddpsim::testing
