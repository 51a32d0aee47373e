// Programs as text: what is read is a program, and its own text says the same.
#include "sim/program/program_symbols.hpp"

#include "tests/fuzz/fuzzed_text.hpp"
#include "tests/program/two_blocks.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace ddpsim;
  using namespace ddpsim::fuzzing;
  static const auto symbols = [] {
    auto all = program_symbols(testing::two_blocks(), DType::bfloat16);
    all.counts["ranks"] = 8;
    all.counts["micro_batches"] = 2;
    all.copy_bandwidth = BytesPerSecond(1e12);
    return all;
  }();
  const auto text = loaded(view_of(bytes, size));
  expect_answer([&] { read_communicators(text); });
  expect_answer([&] {
    auto written = read_program(text, symbols);
    for (const auto& one : written.classes) check_program(one.program);
    auto again = loaded(write_program(written));
    promise(read_program(again, {}) == written);
  });
  return 0;
}
