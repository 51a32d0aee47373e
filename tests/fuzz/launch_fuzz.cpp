// Scripts and flags of Megatron-LM, configurations of Accelerate and DeepSpeed.
#include "sim/job/rows/table.hpp"
#include "sim/text/launch_file.hpp"

#include "tests/fuzz/fuzzed_text.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace ddpsim;
  using namespace ddpsim::fuzzing;
  const FuzzedFile file(view_of(bytes, size));
  for (auto kind : {LaunchKind::megatron_args, LaunchKind::accelerate, LaunchKind::ds_config})
    expect_answer([&] {
      auto root = config::parse_yaml(
          loaded("workload: {model: gpt2}\nstrategy: fsdp\nsweep: {zero.reduce_bucket_size: [1e6, 1e7]}\n"),
          "a scenario");
      apply_launch_file(root, {kind, file.path()}, true, [] { return 768; });
      std::erase_if(root.entries, [](const auto& entry) { return entry.key == "sweep"; });
      read_partial_job(root);
    });
  return 0;
}
