// Layer traces, and that what is written of one is read back.
#include "sim/trace/trace_file.hpp"

#include "tests/fuzz/fuzzed_text.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace ddpsim;
  using namespace ddpsim::fuzzing;
  const auto text = view_of(bytes, size);
  const FuzzedFile file(text);
  expect_answer([&] {
    auto written = write_trace(read_trace(file.path()));
    promise(write_trace(parse_trace(loaded(written))) == written);
  });
  return 0;
}
