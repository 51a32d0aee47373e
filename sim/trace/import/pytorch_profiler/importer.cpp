#include "sim/trace/import/pytorch_profiler/importer.hpp"

#include <algorithm>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/limits.hpp"
#include "sim/base/one_line.hpp"
#include "sim/base/source.hpp"
#include "sim/base/suggest.hpp"
#include "sim/trace/import/pytorch_profiler/registration.hpp"
#include "sim/trace/import/pytorch_profiler/remarks.hpp"

namespace ddpsim {
namespace pytorch_profiler {
namespace {

Statistic statistic_of(const ImportRequest& request) {
  const std::vector<std::string> statistics{"mean", "median"};
  auto name = request.statistic.value_or("median");
  if (std::find(statistics.begin(), statistics.end(), name) == statistics.end())
    throw InputError(fmt::format("unknown statistic '{}'{}", name, did_you_mean(name, statistics)),
                     "the statistics are mean and median");
  return name == "mean" ? Statistic::mean : Statistic::median;
}

// Of all of the steps' all-reduces that say it.
std::set<std::int64_t> group_sizes(const MeasuredSteps& measured) {
  std::set<std::int64_t> sizes;
  for (const auto& step : measured.steps)
    for (const auto& all_reduce : step.all_reduces.list)
      if (all_reduce.group_size) sizes.insert(*all_reduce.group_size);
  return sizes;
}

std::optional<std::int64_t> group_size(const MeasuredSteps& measured, const Profile& profile) {
  auto sizes = group_sizes(measured);
  if (sizes.empty()) return profile.world_size;
  return sizes.size() == 1 ? std::optional(*sizes.begin()) : std::nullopt;
}

// Why the recorded all-reduces cannot be given out; empty when they can.
std::string doubt_about(const RecordedCommunication& recorded, const ImportFacts& facts) {
  const auto& ranks = facts.group_size;
  auto sizes = group_sizes(facts.measured);
  if (sizes.size() > 1)
    return fmt::format("groups of different sizes reduce ({} ranks)", fmt::join(sizes, ", "));
  if (recorded.collectives.empty()) return "the steps do not have the same all-reduces";
  if (!ranks || *ranks < 2 || *ranks > kLargestWorldSize)
    return "the trace does not say how many ranks reduce";
  auto previous = Seconds(0);
  Bytes total;
  for (const auto& collective : recorded.collectives) {
    if (collective.start < std::max(previous, collective.ready) || collective.duration <= Seconds(0))
      return "their kernels do not run one after the other, in the order of launch";
    previous = collective.start;
    total += collective.bytes();
  }
  return total > kLargestByteCount ? "they are more than 8 PiB" : "";
}

// The all-reduces, where there are any; a remark where they cannot be used.
std::optional<RecordedCommunication> communication(const ImportFacts& facts, const ImportRequest& request,
                                                   std::vector<std::string>& remarks) {
  const auto& steps = facts.measured.steps;
  for (const auto& step : steps)
    if (step.all_reduces.flaw) {
      remarks.push_back(
          fmt::format("the recorded all-reduces were left out: {}", step.all_reduces.flaw->message));
      return std::nullopt;
    }
  if (std::all_of(steps.begin(), steps.end(), [](const auto& step) { return step.all_reduces.list.empty(); }))
    return std::nullopt;
  RecordedCommunication recorded;
  recorded.collectives = summarize_collectives(facts.times);
  auto doubt = doubt_about(recorded, facts);
  if (!doubt.empty()) {
    remarks.push_back(fmt::format("the recorded all-reduces were left out: {}", doubt));
    return std::nullopt;
  }
  recorded.world_size = static_cast<int>(*facts.group_size);
  recorded.steps = static_cast<int>(steps.size());
  recorded.source = request.metadata.source;
  return recorded;
}

void check_times(const LayerTrace& trace) {
  if (trace.backward() <= Seconds())
    throw InputError("all gradients are ready as the backward pass begins: it has no times",
                     "nothing that it launched is in the trace; profile with activities=[CPU, CUDA]");
}

void check_total(const LayerTrace& trace) {
  Bytes total;
  for (const auto& gradient : trace.gradients) total += gradient.bytes();
  if (total > kLargestByteCount)
    throw InputError("the gradients are more than 8 PiB", "is the trace damaged?");
}

ImportedTrace import(const ImportRequest& request) {
  auto statistic = statistic_of(request);
  const auto& path = request.inputs.front();
  auto profile = read_profile(path, request.progress);
  try {
    ImportedTrace imported;
    auto& remarks = imported.remarks;
    ComputeStream stream(profile);
    Collectives collectives(profile);
    auto steps = without_undefined_gradients(find_steps(profile, remarks), collectives, remarks);
    auto measured = measure_gradients(profile, steps, collectives, stream, remarks);
    std::vector<StepTimes> times;
    for (const auto& step : measured.steps) {
      auto& time = times.emplace_back(step_times(step, stream));
      if (!time.forward) continue;
      auto count =
          time_in_broadcasts(profile, {*step.step->forward_start, step.step->backward.start}).count();
      Seconds broadcasts(static_cast<double>(count) * 1e-9);  // before all layers
      *time.forward -= std::min(*time.forward, broadcasts);
      for (auto& end : time.forward_ends) end -= std::min(end, broadcasts);
    }
    imported.trace = summarize(times, measured, statistic);
    check_total(imported.trace);
    check_times(imported.trace);
    auto registration = listed_by_optimizer(profile, measured.steps.front());
    imported.trace.registration_guessed = !registration;
    imported.trace.registration_order =
        registration ? *std::move(registration) : reverse_of_arrival(imported.trace.gradients.size());
    imported.trace.buffers = broadcast_buffers(profile);

    ImportFacts facts{path,     imported.trace, profile,   stream,
                      measured, times,          statistic, group_size(measured, profile)};
    auto& metadata = imported.trace.metadata;
    metadata = request.metadata;
    auto device = profile.device_names.find(stream.device().value_or(-1));
    if (!metadata.device && device != profile.device_names.end() && !one_line(device->second).empty())
      metadata.device = one_line(device->second);
    for (auto& note : notes(facts)) metadata.notes.push_back(std::move(note));
    for (auto& warning : warnings(facts)) remarks.push_back(std::move(warning));
    imported.communication = communication(facts, request, remarks);
    return imported;
  } catch (const InputError& error) {
    throw error.at(whole_file(make_source(path, "")));
  }
}

}  // namespace
}  // namespace pytorch_profiler

TraceImporter pytorch_profiler_importer() {
  return {"pytorch-profiler",
          {"TRACE.json[.gz]"},
          "a trace of the PyTorch profiler, of a DDP run or with record_shapes=True",
          {"--statistic", "--collectives", "--recorded"},
          pytorch_profiler::import};
}

}  // namespace ddpsim
