// Recordings: what is read is timed, becomes a program whose text says the same, a trace, and a timeline of
// memory that ends where it says.
#include "sim/compute/operator_times.hpp"
#include "sim/program/recorded_program.hpp"
#include "sim/strategy/recorded_memory.hpp"
#include "sim/text/gpu_file.hpp"
#include "sim/text/presets.hpp"
#include "sim/text/recording_file.hpp"
#include "sim/text/software_file.hpp"

#include "tests/fuzz/fuzzed_text.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  using namespace ddpsim;
  using namespace ddpsim::fuzzing;
  static const auto gpu = read_gpu(find_preset(PresetKind::gpus, "h100-sxm").value());
  static const auto software =
      read_software(find_preset(PresetKind::software, "fsdp-eager-2023").value(), gpu.name);
  const auto text = loaded(view_of(bytes, size));
  expect_answer([&] {
    RecordedWork work{
        {std::make_shared<const Recording>(read_recording(text))}, gpu, software, Precision::bfloat16};
    auto steps = timed(work);
    for (auto time : steps.front()->times) promise(time >= Seconds());
    promise(recorded_memory(work, work.first(), 1).allocated() >= Bytes());
    recorded_trace(steps);
    for (const auto& one : recorded_programs(steps, recorded_ranks(work.recordings)))
      check_program(one.program);
  });
  return 0;
}
