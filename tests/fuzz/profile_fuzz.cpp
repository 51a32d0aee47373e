// Traces of the PyTorch profiler, plain and gzip, and that the layer trace made of one is read.
#include "sim/trace/import/importer.hpp"
#include "sim/trace/trace_file.hpp"

#include "tests/fuzz/fuzzed_text.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace ddpsim;
  using namespace ddpsim::fuzzing;
  const auto text = view_of(bytes, size);
  static const auto& importer = find_importer("pytorch-profiler");
  const FuzzedFile file(text);
  std::string written;
  expect_answer([&] {
    ImportRequest request;
    request.inputs = {file.path()};
    written = write_trace(import_trace(importer, request).trace);
  });
  if (!written.empty()) parse_trace(loaded(written));
  return 0;
}
