#include "validate/comparison/calibration.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "sim/base/check.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/statistics.hpp"

namespace ddpsim::validate {
namespace {

constexpr double kGrid = 2;
constexpr double kTooNear = 0.02;
constexpr Bytes kLargestQueued{32.0 * 1048576};

std::size_t elements_of(Bytes bytes) {
  return static_cast<std::size_t>(std::ceil(bytes.value() / 4));
}

std::vector<Bytes> bucket_sizes(const std::vector<Scenario>& scenarios) {
  std::vector<Bytes> sizes;
  for (const auto& scenario : scenarios)
    for (const auto& bucket : scenario.plan.buckets) sizes.push_back(bucket.bytes);
  std::sort(sizes.begin(), sizes.end());
  sizes.erase(std::unique(sizes.begin(), sizes.end()), sizes.end());
  return sizes;
}

// How many queued all-reduces make a step long enough to measure, without one of large ones taking for ever.
std::size_t queue_length(Bytes bytes) {
  if (bytes < Bytes(65536)) return 32;
  return bytes < Bytes(2097152) ? 16 : 5;
}

Step all_reduces(std::string name, std::size_t n, Bytes bytes, const Sampling& sampling) {
  Step step{std::move(name), {}, {}, sampling, false};
  for (std::size_t i = 0; i < n; ++i) step.add_all_reduce({0, elements_of(bytes)});
  return step;
}

double median_total(const StepSamples& samples) {
  std::vector<double> totals;
  for (auto total : samples.totals) totals.push_back(total.value());
  return median(totals);
}

std::optional<Seconds> spread_of(const StepSamples& samples) {
  std::vector<double> totals;
  for (auto total : samples.totals) totals.push_back(total.value());
  auto deviation = standard_deviation(totals);
  return deviation ? std::optional(Seconds(*deviation)) : std::nullopt;
}

}  // namespace

std::vector<Bytes> calibration_sizes(const std::vector<Scenario>& scenarios) {
  auto buckets = bucket_sizes(scenarios);
  DDPSIM_CHECK(!buckets.empty(), "a scenario reduces something");
  std::vector<Bytes> sizes;
  double smallest = std::min(1024.0, buckets.front().value() * (1 - 1.5 * kTooNear));
  smallest = std::max(4.0, 4 * std::floor(smallest / 4));
  for (double size = smallest; sizes.empty() || sizes.back() < buckets.back(); size *= kGrid) {
    // A multiple of four bytes, moved up past the buckets that are too near.
    Bytes bytes(4 * std::round(size / 4));
    for (auto bucket : buckets)
      if (std::abs(bucket / bytes - 1) < kTooNear)
        bytes = Bytes(4 * std::ceil(bucket.value() * (1 + 1.5 * kTooNear) / 4));
    if (sizes.empty() || bytes > sizes.back()) sizes.push_back(bytes);
  }
  return sizes;
}

std::vector<Step> all_reduce_steps(const std::vector<Bytes>& sizes, const Sampling& sampling) {
  std::vector<Step> steps;
  for (auto bytes : sizes) {
    steps.push_back(all_reduces(fmt::format("all-reduce of {}", format_bytes(bytes)), 1, bytes, sampling));
    if (bytes > kLargestQueued) continue;
    auto n = queue_length(bytes);
    steps.push_back(
        all_reduces(fmt::format("{} queued all-reduces of {}", n, format_bytes(bytes)), n, bytes, sampling));
  }
  return steps;
}

std::vector<MeasuredAllReduce> measured_all_reduces(const RunResult& result,
                                                    const std::vector<Bytes>& sizes) {
  std::vector<MeasuredAllReduce> measured;
  auto step = result.steps.begin();
  for (auto bytes : sizes) {
    DDPSIM_CHECK(step != result.steps.end(), "every step was measured");
    MeasuredAllReduce one{bytes, Seconds(median_total(*step)), spread_of(*step), {}};
    ++step;
    if (bytes <= kLargestQueued) {
      DDPSIM_CHECK(step != result.steps.end(), "every step was measured");
      // Where noise makes several faster than one, nothing is known of the queued one.
      double more = median_total(*step) - one.time.value();
      if (more > 0) one.queued = Seconds(more / static_cast<double>(queue_length(bytes) - 1));
      ++step;
    }
    measured.push_back(one);
  }
  return measured;
}

std::string all_reduce_table(const std::vector<MeasuredAllReduce>& measured, int world_size, Backend backend,
                             const std::string& source) {
  auto text = fmt::format(
      "# ddpsim-allreduce: 1\n# world_size: {}\n# source: {}\n# backend: {}\nbytes,time_s,std_s,queued_s\n",
      world_size, source, backend_name(backend));
  for (const auto& one : measured)
    text += fmt::format("{:.0f},{},{},{}\n", one.bytes.value(), one.time.value(),
                        one.spread.value_or(Seconds(0)).value(),
                        one.queued ? fmt::format("{}", one.queued->value()) : "");
  return text;
}

std::vector<Step> chunk_steps(Bytes total, const std::vector<Bytes>& chunks, const Sampling& sampling) {
  std::vector<Step> steps;
  auto elements = elements_of(total);
  for (auto chunk : chunks) {
    Step step{
        fmt::format("{} in chunks of {}", format_bytes(total), format_bytes(chunk)), {}, {}, sampling, false};
    auto largest = std::max<std::size_t>(1, elements_of(chunk));
    for (std::size_t first = 0; first < elements; first += largest)
      step.add_all_reduce({first, std::min(largest, elements - first)});
    steps.push_back(std::move(step));
  }
  return steps;
}

}  // namespace ddpsim::validate
