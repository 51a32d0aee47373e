// Logs of training programs and of NCCL.
#include "sim/calibrate/step_log.hpp"
#include "sim/nccl/debug_log.hpp"

#include "tests/fuzz/fuzzed_text.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace ddpsim;
  using namespace ddpsim::fuzzing;
  const std::string text(view_of(bytes, size));
  const LoadedText log{make_source("log", text), text};
  expect_answer([&] { (void)calibrate::read_step_log(log, {32, 1024, 8}, true).summary(); });
  expect_answer([&] { nccl::read_debug_log(log); });
  return 0;
}
