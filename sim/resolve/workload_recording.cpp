#include "sim/resolve/workload_recording.hpp"

#include <algorithm>
#include <functional>

#include <fmt/format.h>

#include "sim/config/overrides.hpp"
#include "sim/gpu/plausible_compute.hpp"
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
  std::vector<std::string> paths;
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

void check_world_size(const GivenJob& given, const Recording& recording) {
  int world_size = given.job.cluster.world_size;
  if (world_size == recording.world_size) return;
  throw InputError(given.at("cluster.world_size"),
                   fmt::format("the script was recorded as one of {} ranks, and the job has {}",
                               recording.world_size, world_size),
                   fmt::format("record it again: ddpsim record --world-size {} -- {}", world_size,
                               recording.script.empty() ? "train.py" : recording.script.front()));
}

// Any number of ranks have the gradients that DistributedDataParallel reduces; whatever else a script does
// depends on how many there are.
void check_strategy(const GivenJob& given, const Recordings& recordings) {
  const auto& traits = given.job.strategy->traits;
  const auto& recording = *recordings.front();
  if (traits.is_of_recording) return check_world_size(given, recording);
  const auto& place = given.at("strategy");
  if (recordings.size() > 1)
    throw InputError(
        place, fmt::format("strategy {} is of one step, and here are {}", traits.name, recordings.size()),
        "leave 'strategy' out: the recordings are simulated as they are");
  if (traits.is_of_file) return;
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

bool any_item(const Recordings& recordings, const std::function<bool(const RecordedItem&)>& is) {
  return std::ranges::any_of(recordings,
                             [&](const auto& one) { return std::ranges::any_of(one->items, is); });
}

std::vector<Note> notes_of(const Recordings& recordings, const GpuDescription& gpu) {
  std::vector<Note> notes;
  for (const auto& recording : recordings)
    for (const auto& text : recording->notes)
      if (std::ranges::count(notes, text, &Note::text) == 0) notes.push_back({"recorded", text});
  bool is_compiled = any_item(recordings, [](const auto& item) {
    const auto* op = std::get_if<RecordedOperator>(&item);
    return op && op->is_compiled;
  });
  if (is_compiled)
    notes.push_back({"recorded-compiled",
                     "of compiled regions the operators were recorded, not Inductor's kernels: element-wise "
                     "ones take half of their traffic, by a rule"});
  bool is_uneven = any_item(recordings, [](const auto& item) {
    const auto* one = std::get_if<LaunchedCollective>(&item);
    return one && one->is_uneven;
  });
  if (is_uneven)
    notes.push_back(
        {"recorded-splits", "all-to-alls with parts of unequal sizes take as long as with equal ones"});
  const auto& seen = recordings.front()->gpu;
  if (!seen.empty() && !is_device(gpu.name, seen) && !is_device(seen, gpu.name))
    notes.push_back(
        {"recorded-gpu", fmt::format("the script saw the GPU {}, and is timed on {}: what it chooses "
                                     "by the GPU stays as recorded",
                                     seen, gpu.name)});
  return notes;
}

struct Read {
  std::vector<std::string> paths;
  Recordings recordings;
};
Read read_recordings(Files& files, const GivenJob& given) {
  const auto& named = given.job.workload.recording;
  Read read;
  for (std::size_t i = 0; i < named.size(); ++i) {
    auto key = named.size() == 1 ? "workload.recording" : fmt::format("workload.recording[{}]", i);
    const auto& path = read.paths.emplace_back(files.path_of(given.located(named[i], key)));
    read.recordings.push_back(files.once(
        RecordingKey{path}, [&] { return std::make_shared<const Recording>(read_recording(path)); }));
  }
  return read;
}

std::shared_ptr<const Timed> timed_on(const GpuDescription& gpu, const Recordings& recordings,
                                      const ChosenSoftware& chosen) {
  auto known = std::make_shared<Timed>();
  auto precision = OperatorTimes(*recordings.front(), gpu, chosen.software).precision();
  auto work = std::make_shared<RecordedWork>(RecordedWork{recordings, gpu, chosen.software, precision});
  auto steps = timed(*work);
  for (const auto& step : steps)
    if (std::ranges::all_of(step->times, [](Seconds time) { return time <= Seconds(); }))
      throw InputError("nothing in the recording takes time", "is it a step of training?");
  known->trace = std::make_shared<const LayerTrace>(recorded_trace(std::move(steps)));
  known->work = std::move(work);
  known->notes = software_notes(chosen, gpu, precision, "recorded scripts");
  known->doubts = compute_doubts(chosen.software, gpu, precision, chosen.whose);
  std::ranges::move(notes_of(recordings, gpu), std::back_inserter(known->notes));
  return known;
}

}  // namespace

std::optional<config::Value> with_recorded_world_size(Files& files, const GivenJob& given) {
  if (given.job.workload.recording.empty() || given.has("cluster.world_size")) return std::nullopt;
  const auto& place = given.at("workload.recording");
  auto root = given.root;
  auto ranks = read_recordings(files, given).recordings.front()->world_size;
  config::set_at(root, "cluster.world_size", config::scalar_value(std::to_string(ranks), place), place);
  return root;
}

std::shared_ptr<const LayerTrace> find_recording(Files& files, const GivenJob& given, const KnownGpu& gpu,
                                                 Scenario& scenario) {
  const auto& place = given.at("workload.recording");
  if (!gpu)
    throw InputError(place, "nothing says which GPU computes what was recorded",
                     "add cluster.gpu: h100-sxm, or take a topology that names its GPU");
  auto [paths, recordings] = read_recordings(files, given);
  check_strategy(given, recordings);
  TimedKey key{std::move(paths), texts_of(given, {"workload"}), gpu};
  auto known = files.once(key, [&, of = std::cref(recordings)] {
    auto chosen = choose_software(files, given, *gpu);
    try {
      return timed_on(*gpu, of, chosen);
    } catch (const InputError& error) {
      throw error.at(place);
    }
  });
  scenario.notes = known->notes;
  scenario.doubts = known->doubts;
  scenario.recorded = known->work;
  return known->trace;
}

}  // namespace ddpsim
