// Scenario files: everything that is read before a simulation.
#include "sim/config/sweep_axes.hpp"
#include "sim/resolve/resolve.hpp"

#include "tests/fuzz/fuzzed_text.hpp"

namespace {

// Of clusters of thousands a fuzzer would read one a second: those have 16 ranks here.
void shrink(ddpsim::config::Value& root) {
  auto* cluster = root.find("cluster");
  auto* ranks = cluster ? cluster->value.find("world_size") : nullptr;
  if (ranks && ranks->value.scalar.size() > 2) ranks->value.scalar = "16";
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace ddpsim;
  using namespace ddpsim::fuzzing;
  const auto text = view_of(bytes, size);
  const FuzzedFile file(text);
  expect_answer([&] {
    auto root = config::load_yaml(file.path(), "a scenario");
    config::take_sweep_axes(root);
    shrink(root);
    resolve(Files(DDPSIM_SOURCE_DIR "/configs/fuzzed.yaml"), root);
  });
  return 0;
}
