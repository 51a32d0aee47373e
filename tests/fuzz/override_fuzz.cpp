// Arguments of --set: quantities, flow sequences and key paths.
#include "sim/base/quantity.hpp"
#include "sim/config/overrides.hpp"

#include "tests/fuzz/fuzzed_text.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace ddpsim;
  using namespace ddpsim::fuzzing;
  const auto text = view_of(bytes, size);
  static const auto root =
      config::parse_yaml(loaded("ddp: {bucket_cap: 1MiB}\nsweep: {ddp.bucket_cap: [1]}\n"), "a scenario");
  const Located quantity{std::string(text), whole_file(make_source("fuzzed", text))};
  expect_answer([&] {
    auto changed = root;
    config::apply_override(changed, quantity.text);
  });
  expect_answer([&] { promise(parse_bytes(quantity) >= Bytes(0)); });
  expect_answer([&] { promise(parse_bandwidth(quantity) > BytesPerSecond(0)); });
  expect_answer([&] { promise(parse_seconds(quantity) >= Seconds(0)); });
  return 0;
}
