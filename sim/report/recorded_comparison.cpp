#include "sim/report/recorded_comparison.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <ostream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/check.hpp"
#include "sim/base/source.hpp"
#include "sim/ddp/recorded_buckets.hpp"
#include "sim/report/collective_table.hpp"
#include "sim/report/table_parts.hpp"

namespace ddpsim {
namespace {

constexpr double kMiB = 1048576;

// "7.816, 30.04, 9.274 MiB"; of many only the first and the last.
std::string show_sizes(const std::vector<Bytes>& sizes) {
  constexpr std::size_t kMost = 8;
  std::vector<std::string> parts;
  for (std::size_t i = 0; i < sizes.size(); ++i) {
    if (sizes.size() > kMost && i == kMost / 2) {
      parts.emplace_back("...");
      i = sizes.size() - kMost / 2;
    }
    parts.push_back(fmt::format("{:.4g}", sizes[i].value() / kMiB));
  }
  return fmt::format("{} MiB", fmt::join(parts, ", "));
}

std::string all_reduces(std::size_t n) {
  return fmt::format("{} all-reduce{}", n, n == 1 ? "" : "s");
}

// All there is to reduce.
struct Payload {
  std::int64_t elements = 0;
  Bytes bytes;
  std::map<DType, Bytes> bytes_of;

  // A gradient or a collective.
  template <class Part>
  void add(const Part& part) {
    elements += part.elements;
    bytes += part.bytes();
    bytes_of[part.dtype] += part.bytes();
  }
  [[nodiscard]] std::string dtypes() const {
    std::vector<std::string_view> names;
    for (const auto& [dtype, of_dtype] : bytes_of) names.push_back(dtype_name(dtype));
    return fmt::format("{}", fmt::join(names, " and "));
  }
};

// What would make the scenario reduce what was recorded.
std::string hint_for(const RecordedCommunication& recorded, const LayerTrace& trace,
                     const ReductionPlan& plan, const DdpOptions& options) {
  Payload reduced, gradients;
  for (const auto& collective : recorded.collectives) reduced.add(collective);
  for (const auto& gradient : trace.gradients) gradients.add(gradient);
  if (reduced.elements == gradients.elements && reduced.bytes < gradients.bytes)
    return fmt::format(
        "the trace's {} elements were recorded in {:.0f} bytes of {}, not {:.0f} of {}: did a communication "
        "hook compress them?",
        reduced.elements, reduced.bytes.value(), reduced.dtypes(), gradients.bytes.value(),
        gradients.dtypes());
  if (reduced.bytes != gradients.bytes)
    return fmt::format(
        "{:.0f} bytes were recorded, and the trace has gradients of {:.0f}: is it another model?",
        reduced.bytes.value(), gradients.bytes.value());
  if (reduced.bytes_of != gradients.bytes_of)
    return fmt::format(
        "gradients of {} were recorded, and the trace has as many bytes of {}: is it another model?",
        reduced.dtypes(), gradients.dtypes());
  bool is_ddp = plan.reducer == Reducer::ddp;
  if (auto found = options_that_give(recorded.collectives, trace, options))
    return fmt::format("{}{} gives the recorded ones", is_ddp ? "" : "strategy ddp with ",
                       describe_caps(*found));
  if (options.iteration != DdpIteration::steady) {
    auto later = options;
    later.iteration = DdpIteration::steady;
    if (auto found = options_that_give(recorded.collectives, trace, later))
      return fmt::format("{}ddp.iteration steady with {} gives the recorded ones",
                         is_ddp ? "" : "strategy ddp and ", describe_caps(*found));
  }
  return "no bucket cap gives the recorded ones from this trace: do the gradients arrive in another order?";
}

// Which ranks there would have to be for groups like those recorded.
std::string ranks_hint(int recorded, const std::vector<int>& groups) {
  if (groups.size() == 1) return fmt::format("--set cluster.world_size={}", recorded);
  if (std::adjacent_find(groups.begin(), groups.end(), std::not_equal_to<>()) != groups.end())
    return fmt::format("every group must have {} ranks", recorded);
  return fmt::format("{} groups of {} ranks are a cluster.world_size of {}", groups.size(), recorded,
                     static_cast<std::int64_t>(groups.size()) * recorded);
}

// The first all-reduce of as many bytes but another dtype.
void check_dtypes(const RecordedCommunication& recorded, const SourceSpan& place, const ReductionPlan& plan) {
  for (std::size_t i = 0; i < plan.buckets.size(); ++i) {
    const auto& collective = recorded.collectives[i];
    auto planned = wire_dtype(plan, plan.buckets[i]);
    if (collective.dtype == planned) continue;
    throw InputError(
        place,
        fmt::format("recorded all-reduce {} is of {}; the scenario's is of {}", i,
                    dtype_name(collective.dtype), dtype_name(planned)),
        fmt::format("{} elements of {} have as many bytes as {:.0f} of {}: is it another model?",
                    collective.elements, dtype_name(collective.dtype),
                    collective.bytes().value() / bytes_per_element(planned), dtype_name(planned)));
  }
}

template <class Collectives, class Time>
Seconds latest(const Collectives& collectives, Time time) {
  Seconds last;
  for (const auto& one : collectives) last = std::max(last, time(one));
  return last;
}

void print_total(std::ostream& out, std::string_view name, Seconds recorded, Seconds simulated) {
  auto difference = simulated - recorded;
  auto share = recorded > Seconds(0) ? std::optional(difference / recorded) : std::nullopt;
  out << fmt::format("{:<25}{:>11} {:>11} {:>+11.3f} {:>11}\n", name, ms_text(recorded), ms_text(simulated),
                     difference.value() * 1e3, percent_text(share));
}

}  // namespace

void check_recorded(const RecordedCommunication& recorded, const std::string& path,
                    const std::vector<int>& groups, const LayerTrace& trace, const ReductionPlan& plan,
                    const DdpOptions& options) {
  auto place = whole_file(make_source(path, ""));
  for (int ranks : groups)
    if (ranks != recorded.world_size)
      throw InputError(place,
                       fmt::format("was recorded among {} ranks, and the scenario reduces among {}",
                                   recorded.world_size, ranks),
                       ranks_hint(recorded.world_size, groups));
  std::vector<Bytes> recorded_sizes, planned_sizes;
  for (const auto& collective : recorded.collectives) recorded_sizes.push_back(collective.bytes());
  for (const auto& bucket : plan.buckets) planned_sizes.push_back(bucket.wire);
  if (recorded_sizes == planned_sizes) return check_dtypes(recorded, place, plan);
  throw InputError(
      place,
      fmt::format("recorded {} of {}; the scenario has {} of {}", all_reduces(recorded_sizes.size()),
                  show_sizes(recorded_sizes), all_reduces(planned_sizes.size()), show_sizes(planned_sizes)),
      hint_for(recorded, trace, plan, options));
}

RecordedComparison compare_recorded(const RecordedCommunication& recorded, const IterationMetrics& metrics) {
  DDPSIM_CHECK(recorded.collectives.size() == metrics.buckets.size(), "the recorded buckets were simulated");
  RecordedComparison comparison;
  comparison.world_size = recorded.world_size;
  comparison.steps = recorded.steps;
  for (std::size_t i = 0; i < recorded.collectives.size(); ++i) {
    DDPSIM_CHECK(recorded.collectives[i].bytes() == metrics.buckets[i].wire, "recorded buckets are alike");
    comparison.collectives.push_back({recorded.collectives[i], metrics.buckets[i]});
    comparison.recorded.in_flight += recorded.collectives[i].duration;
    comparison.simulated.in_flight += metrics.buckets[i].end - metrics.buckets[i].start;
  }
  auto ready = [](const auto& one) { return one.ready; };
  auto end = [](const auto& one) { return one.end; };
  comparison.recorded.last_ready = latest(recorded.collectives, ready);
  comparison.recorded.last_end = latest(recorded.collectives, end);
  comparison.simulated.last_ready = latest(metrics.buckets, ready);
  comparison.simulated.last_end = latest(metrics.buckets, end);
  return comparison;
}

void print_comparison(std::ostream& out, const RecordedComparison& comparison) {
  out << fmt::format("\nrecorded ({} step{}) and simulated, in ms from the start of the backward pass\n",
                     comparison.steps, comparison.steps == 1 ? "" : "s");
  print_collective_titles(out, {"recorded", "ready"}, {"simulated", "ready"});
  for (std::size_t i = 0; i < comparison.collectives.size(); ++i) {
    const auto& [recorded, simulated] = comparison.collectives[i];
    print_collectives(out, i, simulated.bytes, {recorded.ready, recorded.start, recorded.end},
                      {simulated.ready, simulated.start, simulated.end});
  }
  out << fmt::format("\n{:<25}{:>11} {:>11} {:>11}\n", "", "recorded", "simulated", "difference");
  const auto &recorded = comparison.recorded, &simulated = comparison.simulated;
  print_total(out, "last gradient ready", recorded.last_ready, simulated.last_ready);
  print_total(out, "last all-reduce ends", recorded.last_end, simulated.last_end);
  print_total(out, "exposed communication", recorded.exposed(), simulated.exposed());
  print_total(out, "all-reduces in flight", recorded.in_flight, simulated.in_flight);
}

}  // namespace ddpsim
