#include "sim/resolve/workload_recording.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "sim/resolve/software_choice.hpp"
#include "sim/text/recording_file.hpp"

namespace ddpsim {
namespace {

constexpr std::size_t kKeptByRecording = 10'000'000;  // bytes, roughly

struct RecordingKey {
  using Value = std::shared_ptr<const Recording>;
  std::string path;
  auto operator<=>(const RecordingKey&) const = default;
  static std::size_t kept(const Value&) { return kKeptByRecording; }
};
struct Timed {
  std::shared_ptr<const LayerTrace> trace;
  std::shared_ptr<const RecordedWork> work;
  std::vector<Note> notes;
  std::vector<Doubt> doubts;
};
struct TimedKey {
  using Value = std::shared_ptr<const Timed>;
  std::string path;
  JobTexts texts;
  KnownGpu gpu;
  auto operator<=>(const TimedKey&) const = default;
  static std::size_t kept(const Value&) { return kKeptByRecording; }
};

// One that is not DistributedDataParallel's all-reduce or broadcast among all ranks, nor of a number that is
// logged; null: there is none.
const LaunchedCollective* other_collective(const Recording& recording) {
  constexpr Bytes kLogged(1024);
  for (const auto& item : recording.items) {
    const auto* one = std::get_if<LaunchedCollective>(&item);
    if (!one || one->is_of_cpu || !one->operation || recording.groups[one->group].count == 1) continue;
    bool is_all = recording.groups[one->group].count == recording.world_size;
    bool is_ddps = one->operation == Operation::broadcast ||
                   (one->operation == Operation::all_reduce && one->phase == RecordedPhase::backward);
    if (!is_all || !(is_ddps || one->bytes <= kLogged)) return one;
  }
  return nullptr;
}

// Any number of ranks have the gradients that DistributedDataParallel reduces; whatever else a script does
// depends on how many there are.
void check_strategy(const GivenJob& given, const Recording& recording) {
  const auto& traits = given.job.strategy->traits;
  if (traits.is_of_recording || traits.is_of_file) return;
  const auto& place = given.at("strategy");
  const char* hint = "leave 'strategy' out: the recording is simulated as it is";
  if (!traits.all_reduces)
    throw InputError(
        place, fmt::format("strategy {} shards, and a recorded script does what it does", traits.name), hint);
  if (!recording.is_of_ddp())
    throw InputError(place, "the recorded model is not under DistributedDataParallel", hint);
  if (int many = recording.micro_batches(); many > 1)
    throw InputError(place, fmt::format("the recorded step has {} micro-batches", many), hint);
  if (const auto* other = other_collective(recording))
    throw InputError(
        place,
        fmt::format("besides DistributedDataParallel's the recorded script has {}s over {} ranks",
                    operation_words(*other->operation), recording.groups[other->group].count),
        hint);
}

std::vector<Note> notes_of(const Recording& recording, const GpuDescription& gpu) {
  std::vector<Note> notes;
  for (const auto& text : recording.notes) notes.push_back({"recorded", text});
  bool is_compiled = std::ranges::any_of(recording.items, [](const auto& item) {
    const auto* op = std::get_if<RecordedOperator>(&item);
    return op && op->is_compiled;
  });
  if (is_compiled)
    notes.push_back({"recorded-compiled",
                     "of compiled regions the operators were recorded, not Inductor's kernels: element-wise "
                     "ones take half of their traffic, by a rule"});
  bool is_uneven = std::ranges::any_of(recording.items, [](const auto& item) {
    const auto* one = std::get_if<LaunchedCollective>(&item);
    return one && one->is_uneven;
  });
  if (is_uneven)
    notes.push_back(
        {"recorded-splits", "all-to-alls with parts of unequal sizes take as long as with equal ones"});
  if (!recording.gpu.empty() && !is_device(gpu.name, recording.gpu) && !is_device(recording.gpu, gpu.name))
    notes.push_back(
        {"recorded-gpu", fmt::format("the script saw the GPU {}, and is timed on {}: what it chooses "
                                     "by the GPU stays as recorded",
                                     recording.gpu, gpu.name)});
  return notes;
}

}  // namespace

std::shared_ptr<const LayerTrace> find_recording(Files& files, const GivenJob& given, const KnownGpu& gpu,
                                                 Scenario& scenario) {
  const auto& place = given.at("workload.recording");
  if (!gpu)
    throw InputError(place, "nothing says which GPU computes what was recorded",
                     "add cluster.gpu: h100-sxm, or take a topology that names its GPU");
  auto path = files.path_of(given.located(*given.job.workload.recording, "workload.recording"));
  auto recording =
      files.once(RecordingKey{path}, [&] { return std::make_shared<const Recording>(read_recording(path)); });
  check_strategy(given, *recording);
  auto known = files.once(TimedKey{path, texts_of(given, {"workload"}), gpu}, [&] {
    auto chosen = choose_software(files, given, *gpu);
    auto timed_now = std::make_shared<Timed>();
    try {
      auto precision = OperatorTimes(*recording, *gpu, chosen.software).precision();
      auto work = std::make_shared<RecordedWork>(RecordedWork{recording, *gpu, chosen.software, precision});
      auto step = timed(*work);
      if (std::ranges::all_of(step->times, [](Seconds time) { return time <= Seconds(); }))
        throw InputError("nothing in the recording takes time", "is it a step of training?");
      timed_now->trace = std::make_shared<const LayerTrace>(recorded_trace(step));
      timed_now->work = std::move(work);
      timed_now->notes = software_notes(chosen, *gpu, precision, "recorded scripts");
      timed_now->doubts = compute_doubts(chosen.software, *gpu, precision, chosen.whose);
    } catch (const InputError& error) {
      throw error.at(place);
    }
    std::ranges::move(notes_of(*recording, *gpu), std::back_inserter(timed_now->notes));
    return std::shared_ptr<const Timed>(std::move(timed_now));
  });
  scenario.notes = known->notes;
  scenario.doubts = known->doubts;
  scenario.recorded = known->work;
  return known->trace;
}

}  // namespace ddpsim
