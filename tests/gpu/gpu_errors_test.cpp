// Every way in which a GPU file can be wrong, with the whole message.
#include <gtest/gtest.h>

#include "tests/gpu/texts.hpp"

namespace ddpsim {
namespace {

using testing::gpu_error;
using testing::kSmallGpu;

// The small GPU with one line replaced.
std::string changed(const std::string& from, const std::string& to) {
  auto text = kSmallGpu;
  return text.replace(text.find(from), from.size(), to);
}

TEST(GpuErrors, AnotherKind) {
  EXPECT_EQ(gpu_error(changed("kind: gpu", "kind: ring")),
            "g.yaml:1:7: error: unknown value 'ring'\n"
            "  1 | kind: ring\n"
            "    |       ^~~~\n"
            "hint: one of gpu");
}

// Not the keys that a topology has.
TEST(GpuErrors, AFileOfAnotherKind) {
  EXPECT_EQ(gpu_error("kind: ring\nlink: {bandwidth: 1GB/s, latency: 1us}\n"),
            "g.yaml:1:7: error: unknown value 'ring'\n"
            "  1 | kind: ring\n"
            "    |       ^~~~\n"
            "hint: one of gpu");
}

TEST(GpuErrors, MissingKey) {
  EXPECT_EQ(gpu_error(changed("multiprocessors: 10\n", "")),
            "g.yaml:1:1: error: 'gpu' lacks the key 'multiprocessors'\n"
            "  1 | kind: gpu\n"
            "    | ^\n"
            "hint: add 'multiprocessors: ...'");
}

TEST(GpuErrors, NoMultiprocessors) {
  EXPECT_EQ(gpu_error(changed("10", "0")),
            "g.yaml:3:18: error: 0 is out of range\n"
            "  3 | multiprocessors: 0\n"
            "    |                  ^\n"
            "hint: write a number from 1 to 100000");
}

TEST(GpuErrors, NoMemory) {
  EXPECT_EQ(gpu_error(changed("8GB", "0GB")),
            "g.yaml:4:9: error: a GPU without memory\n"
            "  4 | memory: 0GB\n"
            "    |         ^~~\n"
            "hint: write it like 80GB");
}

TEST(GpuErrors, BandwidthOfAnotherDimension) {
  EXPECT_EQ(gpu_error(changed("100GB/s", "100GB")),
            "g.yaml:5:22: error: '100GB' is a size, not a bandwidth\n"
            "  5 | memory_bandwidth: 100GB\n"
            "    |                      ^~\n"
            "hint: write a bandwidth like 100Gbps or 12.5GB/s");
}

TEST(GpuErrors, PeakWithoutUnit) {
  EXPECT_EQ(gpu_error(changed("1TFLOP/s", "1")),
            "g.yaml:6:17: error: '1' has no unit\n"
            "  6 | peak: {float32: 1}\n"
            "    |                 ^\n"
            "hint: write a rate of operations like 66.9TFLOP/s");
}

TEST(GpuErrors, NoPeakForFloat32) {
  EXPECT_EQ(gpu_error(changed("float32", "bfloat16")),
            "g.yaml:6:7: error: 'peak' lacks the key 'float32'\n"
            "  6 | peak: {bfloat16: 1TFLOP/s}\n"
            "    |       ^\n"
            "hint: add 'float32: ...'");
}

TEST(GpuErrors, PeakOfAnUnknownType) {
  EXPECT_EQ(gpu_error(changed("peak: {", "peak: {int8: 1TFLOP/s, ")),
            "g.yaml:6:8: error: unknown key 'int8'\n"
            "  6 | peak: {int8: 1TFLOP/s, float32: 1TFLOP/s}\n"
            "    |        ^~~~\n"
            "hint: 'peak' knows float32, float16, bfloat16, float64, tfloat32, float8");
}

TEST(GpuErrors, UnknownKey) {
  EXPECT_EQ(gpu_error(kSmallGpu + "bandwidth: 1GB/s\n"),
            "g.yaml:7:1: error: unknown key 'bandwidth'\n"
            "  7 | bandwidth: 1GB/s\n"
            "    | ^~~~~~~~~\n"
            "hint: 'gpu' knows kind, name, architecture, multiprocessors, memory, memory_bandwidth, peak, "
            "copy, interference");
}

TEST(GpuErrors, CopiesThatNeverEnd) {
  EXPECT_EQ(gpu_error(kSmallGpu + "copy: {efficiency: 0}\n"),
            "g.yaml:7:20: error: a share of zero never ends\n"
            "  7 | copy: {efficiency: 0}\n"
            "    |                    ^\n"
            "hint: write a number above 0, up to 1");
}

TEST(GpuErrors, CopiesFasterThanTheMemory) {
  EXPECT_EQ(gpu_error(kSmallGpu + "copy: {efficiency: 1.5}\n"),
            "g.yaml:7:20: error: 1.5 is outside [0, 1]\n"
            "  7 | copy: {efficiency: 1.5}\n"
            "    |                    ^~~\n"
            "hint: write a number in that range");
}

TEST(GpuErrors, UnknownKeyOfCopies) {
  EXPECT_EQ(gpu_error(kSmallGpu + "copy: {speed: 1}\n"),
            "g.yaml:7:8: error: unknown key 'speed'\n"
            "  7 | copy: {speed: 1}\n"
            "    |        ^~~~~\n"
            "hint: 'copy' knows efficiency, launch");
}

TEST(GpuErrors, RangeUpsideDown) {
  EXPECT_EQ(gpu_error(kSmallGpu + "interference: {compute: [0.65, 0.1]}\n"),
            "g.yaml:7:25: error: the range's 0.65 is above its 0.1\n"
            "  7 | interference: {compute: [0.65, 0.1]}\n"
            "    |                         ^\n"
            "hint: swap them");
}

TEST(GpuErrors, RangeOfOneEnd) {
  EXPECT_EQ(gpu_error(kSmallGpu + "interference: {compute: [0.1]}\n"),
            "g.yaml:7:25: error: a range has two ends, not 1\n"
            "  7 | interference: {compute: [0.1]}\n"
            "    |                         ^\n"
            "hint: write it like [0.1, 0.65]; a number that is known is [0.26, 0.26]");
}

TEST(GpuErrors, RangeAsANumber) {
  EXPECT_EQ(gpu_error(kSmallGpu + "interference: {compute: 0.3}\n"),
            "g.yaml:7:25: error: expected a list, found a single value\n"
            "  7 | interference: {compute: 0.3}\n"
            "    |                         ^~~\n"
            "hint: write it like [a, b]");
}

TEST(GpuErrors, NegativeSlowdown) {
  EXPECT_EQ(gpu_error(kSmallGpu + "interference: {collective: [-0.1, 0.3]}\n"),
            "g.yaml:7:29: error: -0.1 is outside [0, 100]\n"
            "  7 | interference: {collective: [-0.1, 0.3]}\n"
            "    |                             ^~~~\n"
            "hint: write a number in that range");
}

}  // namespace
}  // namespace ddpsim
