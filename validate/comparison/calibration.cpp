#include "validate/comparison/calibration.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "validate/comparison/replay.hpp"
#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/check.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/statistics.hpp"

namespace ddpsim::validate {
namespace {

constexpr double kGrid = 2;
constexpr double kTooNear = 0.02;
constexpr Bytes kLargestQueued{32.0 * 1048576};

// How many queued all-reduces make a step long enough to measure, without one of large ones taking for ever.
std::size_t queue_length(Bytes bytes) {
  if (bytes < Bytes(65536)) return 32;
  return bytes < Bytes(2097152) ? 16 : 5;
}

Step collectives(std::string name, std::size_t n, const Message& message, int ranks,
                 const Sampling& sampling) {
  Step step{std::move(name), {}, {}, sampling, false};
  for (std::size_t i = 0; i < n; ++i)
    step.add(message.operation, {0, elements_of(message.operation, message.bytes, ranks)});
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

// Of one operation, ascending.
std::vector<Bytes> sizes_around(const std::set<Bytes>& messages) {
  std::vector<Bytes> sizes;
  double smallest = std::min(1024.0, messages.begin()->value() * (1 - 1.5 * kTooNear));
  smallest = std::max(4.0, 4 * std::floor(smallest / 4));
  for (double size = smallest; sizes.empty() || sizes.back() < *messages.rbegin(); size *= kGrid) {
    // A multiple of four bytes, moved up past the messages that are too near.
    Bytes bytes(4 * std::round(size / 4));
    for (auto message : messages)
      if (std::abs(message / bytes - 1) < kTooNear)
        bytes = Bytes(4 * std::ceil(message.value() * (1 + 1.5 * kTooNear) / 4));
    if (sizes.empty() || bytes > sizes.back()) sizes.push_back(bytes);
  }
  return sizes;
}

}  // namespace

std::vector<Message> calibration_messages(const std::vector<Message>& wanted) {
  DDPSIM_CHECK(!wanted.empty(), "a scenario communicates something");
  std::map<Operation, std::set<Bytes>> by_operation;
  for (const auto& [operation, bytes] : wanted) by_operation[operation].insert(bytes);
  std::vector<Message> messages;
  for (const auto& [operation, sizes] : by_operation)
    for (auto bytes : sizes_around(sizes)) messages.push_back({operation, bytes});
  return messages;
}

std::string describe(const std::vector<Message>& messages) {
  std::vector<std::string> parts;
  for (auto first = messages.begin(); first != messages.end();) {
    auto end = std::find_if(first, messages.end(),
                            [&](const Message& one) { return one.operation != first->operation; });
    parts.push_back(fmt::format("{}s of {} sizes from {} to {}", operation_words(first->operation),
                                end - first, format_bytes(first->bytes),
                                format_bytes(std::prev(end)->bytes)));
    first = end;
  }
  return fmt::format("{}", fmt::join(parts, ", "));
}

std::vector<Step> calibration_steps(const std::vector<Message>& messages, int ranks,
                                    const Sampling& sampling) {
  std::vector<Step> steps;
  for (const auto& message : messages) {
    auto name = fmt::format("{} of {}", operation_words(message.operation), format_bytes(message.bytes));
    steps.push_back(collectives(name, 1, message, ranks, sampling));
    if (message.bytes > kLargestQueued) continue;
    auto n = queue_length(message.bytes);
    steps.push_back(collectives(fmt::format("{} queued, each {}", n, name), n, message, ranks, sampling));
  }
  return steps;
}

std::vector<MeasuredCollective> measured_collectives(const RunResult& result,
                                                     const std::vector<Message>& messages) {
  std::vector<MeasuredCollective> measured;
  auto step = result.steps.begin();
  for (const auto& message : messages) {
    DDPSIM_CHECK(step != result.steps.end(), "every step was measured");
    MeasuredCollective one{message, Seconds(median_total(*step)), spread_of(*step), {}};
    ++step;
    if (message.bytes <= kLargestQueued) {
      DDPSIM_CHECK(step != result.steps.end(), "every step was measured");
      // Where noise makes several faster than one, nothing is known of the queued one.
      double more = median_total(*step) - one.time.value();
      if (more > 0) one.queued = Seconds(more / static_cast<double>(queue_length(message.bytes) - 1));
      ++step;
    }
    measured.push_back(one);
  }
  return measured;
}

std::string collective_table(const std::vector<MeasuredCollective>& measured, int world_size, Backend backend,
                             const std::string& source) {
  auto text = fmt::format(
      "# ddpsim-allreduce: 1\n# world_size: {}\n# source: {}\n# backend: {}\n"
      "operation,bytes,time_s,std_s,queued_s\n",
      world_size, source, backend_name(backend));
  for (const auto& one : measured)
    text += fmt::format("{},{:.0f},{},{},{}\n", operation_name(one.message.operation),
                        one.message.bytes.value(), one.time.value(), one.spread.value_or(Seconds(0)).value(),
                        one.queued ? fmt::format("{}", one.queued->value()) : "");
  return text;
}

std::vector<Step> chunk_steps(Bytes total, const std::vector<Bytes>& chunks, const Sampling& sampling) {
  std::vector<Step> steps;
  auto elements = elements_of(Operation::all_reduce, total, 1);
  for (auto chunk : chunks) {
    Step step{
        fmt::format("{} in chunks of {}", format_bytes(total), format_bytes(chunk)), {}, {}, sampling, false};
    auto largest = std::max<std::size_t>(1, elements_of(Operation::all_reduce, chunk, 1));
    for (std::size_t first = 0; first < elements; first += largest)
      step.add(Operation::all_reduce, {first, std::min(largest, elements - first)});
    steps.push_back(std::move(step));
  }
  return steps;
}

}  // namespace ddpsim::validate
