// Topology files, and clusters of their usual size.
#include "sim/text/topology_file.hpp"

#include "tests/fuzz/fuzzed_text.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace ddpsim;
  using namespace ddpsim::fuzzing;
  const auto text = view_of(bytes, size);
  const FuzzedFile file(text);
  expect_answer([&] {
    auto topology = read_topology(file.path());
    static_cast<void>(topology->build(topology->usual_size().value_or(8)));
  });
  return 0;
}
