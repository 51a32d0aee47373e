#include "sim/calibrate/profiled_work.hpp"

#include <algorithm>
#include <chrono>
#include <map>
#include <span>
#include <utility>

#include "sim/trace/import/pytorch_profiler/collective_names.hpp"

namespace ddpsim::calibrate {
namespace {

using pytorch_profiler::CollectiveKernel;
using pytorch_profiler::CollectiveKind;
using pytorch_profiler::GpuWork;
using pytorch_profiler::GpuWorkKind;
using pytorch_profiler::KernelFingerprint;
using pytorch_profiler::Profile;
using pytorch_profiler::Span;
using pytorch_profiler::Time;

// How many kernels before and after one say which layer it is of: a kernel with its launch shape may work on
// tensors of several shapes (docs/model.md).
constexpr std::size_t kNeighbours = 2;

enum IdentityBy : std::uint64_t { by_position, by_neighbours, by_size };

Seconds seconds(Time time) {
  return Seconds(std::chrono::duration<double>(time).count());
}

// Where streams are busy: each by itself, and any.
class BusyStreams {
 public:
  template <class Records>
  explicit BusyStreams(const Records& records) {
    std::vector<Span> all;
    for (const auto& record : records) {
      streams_[record.stream].push_back(record);
      all.push_back(record);
    }
    for (auto& [stream, spans] : streams_) spans = pytorch_profiler::united(std::move(spans));
    any_ = pytorch_profiler::united(std::move(all));
  }
  [[nodiscard]] Time any(Span span) const { return time_within(any_, span); }
  [[nodiscard]] bool others(Span span, std::int32_t stream) const {
    return std::any_of(streams_.begin(), streams_.end(), [&](const auto& busy) {
      return busy.first != stream && time_within(busy.second, span) > Time::zero();
    });
  }

 private:
  std::map<std::int32_t, std::vector<Span>> streams_;
  std::vector<Span> any_;
};

struct Communication {
  std::vector<Span> in_flight, working;  // each disjoint and in order
};

// A ring gets nowhere until its last rank has come, so waiting is what comes first.
Communication communication_of(const std::vector<CollectiveKernel>& collectives,
                               std::optional<BytesPerSecond> algbw) {
  Communication all;
  for (const auto& collective : collectives) {
    const auto& facts = collective.facts;
    auto dtype = pytorch_profiler::dtype_of(facts.dtype);
    auto begun = collective.start;
    if (algbw && facts.kind == CollectiveKind::all_reduce && facts.elements && dtype) {
      auto bytes = Bytes(static_cast<double>(*facts.elements) * bytes_per_element(*dtype));
      auto takes = std::chrono::duration<double>((bytes / *algbw).value());
      if (takes < collective.end - collective.start)
        begun = collective.end - std::chrono::duration_cast<Time>(takes);
    }
    all.in_flight.push_back(collective);
    all.working.push_back({begun, collective.end});
  }
  all.in_flight = united(std::move(all.in_flight));
  all.working = united(std::move(all.working));
  return all;
}

Seconds total(const std::vector<Span>& spans) {
  Time time{};
  for (const auto& span : spans) time += span.end - span.start;
  return seconds(time);
}

// The step that launched it; what lies outside of all steps has numbers of its own.
std::size_t step_of(const Profile& profile, std::int64_t correlation, Time start) {
  const auto* launch = find_launch(profile, correlation);
  Time at = launch ? launch->at : start;
  auto after = std::upper_bound(profile.steps.begin(), profile.steps.end(), at,
                                [](Time moment, const auto& step) { return moment < step.start; });
  auto begun = static_cast<std::size_t>(after - profile.steps.begin());
  return 2 * begun + (begun > 0 && !profile.steps[begun - 1].contains(at));
}

// Each record's place among those of its step with the same fingerprint, in the order of launch. Where two
// steps have equally many of them, the same place is the same work.
template <class Record>
std::vector<WorkIdentity> positions(const Profile& profile, std::span<const Record* const> records) {
  std::vector<std::size_t> launched(records.size());
  for (std::size_t i = 0; i < records.size(); ++i) launched[i] = i;
  std::stable_sort(launched.begin(), launched.end(), [&](std::size_t a, std::size_t b) {
    return std::pair(records[a]->correlation, records[a]->start) <
           std::pair(records[b]->correlation, records[b]->start);
  });
  std::map<std::pair<std::size_t, KernelFingerprint>, std::vector<std::size_t>> alike;
  for (auto i : launched)
    alike[{step_of(profile, records[i]->correlation, records[i]->start), records[i]->kernel}].push_back(i);
  std::vector<WorkIdentity> identities(records.size());
  for (const auto& [key, indices] : alike)
    for (std::size_t place = 0; place < indices.size(); ++place)
      identities[indices[place]] = {by_position, key.second, indices.size(), place};
  return identities;
}

// The kernel with those around it on its stream; `kernels` are in the order of streams, then of time.
WorkIdentity neighbours(std::span<const GpuWork* const> kernels, std::size_t i) {
  WorkIdentity identity{by_neighbours};
  for (std::size_t j = i; j <= i + 2 * kNeighbours; ++j) {
    bool there = j >= kNeighbours && j - kNeighbours < kernels.size() &&
                 kernels[j - kNeighbours]->stream == kernels[i]->stream;
    identity.push_back(there ? kernels[j - kNeighbours]->kernel : 0);
  }
  return identity;
}

}  // namespace

ProfiledWork profiled_work(const Profile& profile, std::optional<BytesPerSecond> algbw) {
  BusyStreams compute(profile.gpu_work), communicating(profile.collective_kernels);
  auto communication = communication_of(profile.collective_kernels, algbw);
  std::vector<const GpuWork*> kernels;
  for (const auto& work : profile.gpu_work)
    if (work.kind == GpuWorkKind::kernel) kernels.push_back(&work);
  std::stable_sort(kernels.begin(), kernels.end(), [](const auto* a, const auto* b) {
    return std::pair(a->stream, a->start) < std::pair(b->stream, b->start);
  });
  ProfiledWork timed;
  timed.in_flight = total(communication.in_flight);
  timed.waiting = timed.in_flight - total(communication.working);
  auto kernel_positions = positions<GpuWork>(profile, kernels);
  for (std::size_t i = 0; i < kernels.size(); ++i) {
    const auto& kernel = *kernels[i];
    auto beside = time_within(communication.working, kernel);
    bool only_waits = beside == Time::zero() && time_within(communication.in_flight, kernel) > Time::zero();
    timed.kernels.push_back({kernel.kernel,
                             {std::move(kernel_positions[i]), neighbours(kernels, i)},
                             seconds(kernel.end - kernel.start),
                             seconds(beside),
                             only_waits || compute.others(kernel, kernel.stream)});
  }
  std::vector<const CollectiveKernel*> collectives;
  for (const auto& collective : profile.collective_kernels) collectives.push_back(&collective);
  auto collective_positions = positions<CollectiveKernel>(profile, collectives);
  for (std::size_t i = 0; i < collectives.size(); ++i) {
    const auto& collective = *collectives[i];
    auto identity = std::move(collective_positions[i]);
    if (auto elements = collective.facts.elements)
      identity = {by_size, collective.kernel, static_cast<std::uint64_t>(*elements)};
    timed.collectives.push_back({collective.kernel,
                                 {std::move(identity)},
                                 seconds(collective.end - collective.start),
                                 seconds(compute.any(collective)),
                                 communicating.others(collective, collective.stream)});
  }
  return timed;
}

}  // namespace ddpsim::calibrate
