// Tables of layers' sizes and times, and of operators: of two files each, one fuzzed and one good.
#include "sim/trace/import/importer.hpp"
#include "sim/trace/trace_file.hpp"

#include "tests/fuzz/fuzzed_text.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace ddpsim;
  using namespace ddpsim::fuzzing;
  const auto text = view_of(bytes, size);
  const FuzzedFile file(text);
  const std::string data = DDPSIM_SOURCE_DIR "/tests/trace/";
  auto read = [](const char* format, std::vector<std::string> paths) {
    std::string written;
    expect_answer([&] {
      ImportRequest request;
      request.inputs = std::move(paths);
      written = write_trace(import_trace(find_importer(format), request).trace);
    });
    if (!written.empty()) parse_trace(loaded(written));
  };
  read("layer-times", {file.path(), data + "data/layer-times-gpt2_large-bs4.csv"});
  read("layer-times", {data + "data/layer-sizes-gpt2_large-bs4.csv", file.path()});
  read("operator-table", {file.path(), data + "import/data/operator_table/vgg13/tensor.csv"});
  read("operator-table", {data + "import/data/operator_table/vgg13/trace.csv", file.path()});
  return 0;
}
