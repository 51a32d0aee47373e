// Measured times of collectives, in every format that is recognised.
#include "sim/calibrate/collective_table.hpp"
#include "sim/collective/measured_cost.hpp"
#include "sim/trace/recorded_communication.hpp"

#include "tests/fuzz/fuzzed_text.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace ddpsim;
  using namespace ddpsim::fuzzing;
  const auto text = view_of(bytes, size);
  const FuzzedFile file(text);
  expect_answer([&] { calibrate::read_collective_tables(file.path()); });
  expect_answer([&] { read_measured_table(file.path()); });
  expect_answer([&] { read_recorded_communication(file.path()); });
  return 0;
}
