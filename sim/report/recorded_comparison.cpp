#include "sim/report/recorded_comparison.hpp"

#include <algorithm>
#include <ostream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/check.hpp"
#include "sim/base/source.hpp"
#include "sim/ddp/recorded_buckets.hpp"

namespace ddpsim {
namespace {

constexpr double kMiB = 1048576;

double ms(Seconds time) {
  return time.value() * 1e3;
}

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

Bytes sum(const std::vector<Bytes>& sizes) {
  Bytes total;
  for (auto size : sizes) total += size;
  return total;
}

// What would make the scenario reduce what was recorded.
std::string hint_for(const RecordedCommunication& recorded, const std::vector<Bytes>& recorded_sizes,
                     const LayerTrace& trace, const ReductionPlan& plan, const DdpOptions& options) {
  if (auto total = sum(recorded_sizes); total != trace.bytes())
    return fmt::format(
        "{:.0f} bytes were recorded, and the trace has gradients of {:.0f}: is it another model?",
        total.value(), trace.bytes().value());
  auto found = options_that_give(recorded.collectives, trace, options);
  if (!found)
    return "no bucket cap gives the recorded ones from this trace: do the gradients arrive in another order?";
  return fmt::format("{}{} gives the recorded ones",
                     plan.strategy == Strategy::ddp ? "" : "strategy ddp with ", describe_caps(*found));
}

template <class Collectives, class Time>
Seconds latest(const Collectives& collectives, Time time) {
  Seconds last;
  for (const auto& one : collectives) last = std::max(last, time(one));
  return last;
}

std::string percent(std::optional<double> share) {
  return share ? fmt::format("{:>+9.1f} %", 100 * *share) : fmt::format("{:>11}", "-");
}

void print_total(std::ostream& out, std::string_view name, Seconds recorded, Seconds simulated) {
  auto difference = simulated - recorded;
  auto share = recorded > Seconds(0) ? std::optional(difference / recorded) : std::nullopt;
  out << fmt::format("{:<25}{:>11.3f} {:>11.3f} {:>+11.3f} {}\n", name, ms(recorded), ms(simulated),
                     ms(difference), percent(share));
}

}  // namespace

void check_recorded(const RecordedCommunication& recorded, const std::string& path, int group_size,
                    const LayerTrace& trace, const ReductionPlan& plan, const DdpOptions& options) {
  auto place = whole_file(make_source(path, ""));
  if (recorded.world_size != group_size)
    throw InputError(place,
                     fmt::format("was recorded among {} ranks, and the scenario reduces among {}",
                                 recorded.world_size, group_size),
                     fmt::format("--set cluster.world_size={}", recorded.world_size));
  std::vector<Bytes> recorded_sizes, planned_sizes;
  for (const auto& collective : recorded.collectives) recorded_sizes.push_back(collective.bytes());
  for (const auto& bucket : plan.buckets) planned_sizes.push_back(bucket.bytes);
  if (recorded_sizes == planned_sizes) return;
  throw InputError(
      place,
      fmt::format("recorded {} of {}; the scenario has {} of {}", all_reduces(recorded_sizes.size()),
                  show_sizes(recorded_sizes), all_reduces(planned_sizes.size()), show_sizes(planned_sizes)),
      hint_for(recorded, recorded_sizes, trace, plan, options));
}

RecordedComparison compare_recorded(const RecordedCommunication& recorded, const IterationMetrics& metrics) {
  DDPSIM_CHECK(recorded.collectives.size() == metrics.buckets.size(), "the recorded buckets were simulated");
  RecordedComparison comparison;
  comparison.world_size = recorded.world_size;
  comparison.steps = recorded.steps;
  for (std::size_t i = 0; i < recorded.collectives.size(); ++i) {
    DDPSIM_CHECK(recorded.collectives[i].bytes() == metrics.buckets[i].bytes, "recorded buckets are alike");
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
  out << fmt::format("{:>6} {:>10} {:^32} {:^32} {:>22}\n", "", "", "recorded", "simulated", "difference");
  out << fmt::format("{:>6} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10} {:>10}\n",
                     "bucket", "MiB", "ready", "start", "end", "ready", "start", "end", "start", "end",
                     "end");
  for (std::size_t i = 0; i < comparison.collectives.size(); ++i) {
    const auto& one = comparison.collectives[i];
    const auto& [recorded, simulated] = one;
    out << fmt::format(
        "{:>6} {:>10.4f} {:>10.3f} {:>10.3f} {:>10.3f} {:>10.3f} {:>10.3f} {:>10.3f} {:>+10.3f} {:>+10.3f} "
        "{}\n",
        i, simulated.bytes.value() / kMiB, ms(recorded.ready), ms(recorded.start), ms(recorded.end),
        ms(simulated.ready), ms(simulated.start), ms(simulated.end), ms(one.start_difference()),
        ms(one.end_difference()), percent(one.end_relative_difference()));
  }
  out << fmt::format("\n{:<25}{:>11} {:>11} {:>11}\n", "", "recorded", "simulated", "difference");
  const auto &recorded = comparison.recorded, &simulated = comparison.simulated;
  print_total(out, "last gradient ready", recorded.last_ready, simulated.last_ready);
  print_total(out, "last all-reduce ends", recorded.last_end, simulated.last_end);
  print_total(out, "exposed communication", recorded.exposed(), simulated.exposed());
  print_total(out, "all-reduces in flight", recorded.in_flight, simulated.in_flight);
}

}  // namespace ddpsim
