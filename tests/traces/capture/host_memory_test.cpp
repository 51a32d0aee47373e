#include "traces/capture/host_memory.hpp"

#include <gmock/gmock.h>

#include "sim/base/source.hpp"

namespace ddpsim {
namespace {

using ::testing::ThrowsMessage;

CaptureOptions xl(const std::string& optimizer) {
  CaptureOptions options;
  options.model = "gpt2-xl";
  options.optimizer = optimizer;
  return options;
}

// gpt2-xl has 1,557,611,200 parameters of 4 bytes; gradients as many; AdamW's moments twice as many.
TEST(HostMemory, CountsParametersGradientsAndMoments) {
  EXPECT_EQ(memory_needed(xl("sgd")), Bytes(2 * 4 * 1557611200.0));
  EXPECT_EQ(memory_needed(xl("adamw")), Bytes(4 * 4 * 1557611200.0));
}

TEST(HostMemory, TooLittleIsRefusedWithAWayOut) {
  EXPECT_THAT(
      [] { check_memory(xl("adamw"), Bytes(16e9)); },
      ThrowsMessage<InputError>(
          "error: gpt2-xl with adamw needs 24.9 GB before any activation, and 16.0 GB of memory are free\n"
          "hint: --optimizer sgd keeps no moments: half of that"));
  EXPECT_THAT(
      [] { check_memory(xl("sgd"), Bytes(12e9)); },
      ThrowsMessage<InputError>(
          "error: gpt2-xl with sgd needs 12.5 GB before any activation, and 12.0 GB of memory are free\n"
          "hint: take a smaller --model"));
}

TEST(HostMemory, EnoughOrUnknownPasses) {
  EXPECT_NO_THROW(check_memory(xl("sgd"), Bytes(16e9)));
  EXPECT_NO_THROW(check_memory(xl("sgd"), std::nullopt));
}

}  // namespace
}  // namespace ddpsim
