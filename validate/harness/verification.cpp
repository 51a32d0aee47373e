#include "validate/harness/verification.hpp"

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>

#include <fmt/core.h>

#include "sim/base/program_exit.hpp"

namespace ddpsim::validate {
namespace {

// SplitMix64's finaliser (Steele, Lea, Flood 2014): values without a pattern that a misplaced range could
// repeat.
std::uint64_t scramble(std::uint64_t x) {
  x += 0x9e3779b97f4a7c15;
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9;
  x = (x ^ (x >> 27)) * 0x94d049bb133111eb;
  return x ^ (x >> 31);
}

// The gradient of an element is base + rank * slope, so that its average over the ranks is known without
// summing.
struct GradientLine {
  double base, slope;
  [[nodiscard]] double at(double rank) const { return base + rank * slope; }
};

GradientLine line_of(std::size_t element, unsigned round) {
  auto bits = scramble(element + (static_cast<std::uint64_t>(round) << 48));
  return {static_cast<double>(bits % 2048) / 1024 - 1, static_cast<double>((bits >> 16) % 256) / 1024};
}

}  // namespace

std::vector<double> digest(std::span<const float> values) {
  std::uint64_t hash = values.size();
  for (float value : values) {
    std::uint32_t bits = 0;
    std::memcpy(&bits, &value, sizeof bits);
    hash = scramble(hash ^ bits);
  }
  return {static_cast<double>(hash >> 32), static_cast<double>(hash & 0xffffffff)};
}

void require_equal_on_all_ranks(CollectiveBackend& backend, const std::vector<double>& digests,
                                std::string_view what) {
  auto values = digests;  // the largest of all ranks, and of all the smallest
  for (double value : digests) values.push_back(-value);
  values = backend.maximum(values);
  for (std::size_t i = 0; i < digests.size(); ++i)
    if (values[i] != -values[i + digests.size()])
      throw RunFailed(fmt::format("rank {}: the ranks' {} differ", backend.rank(), what));
}

Replica::Replica(CollectiveBackend& backend, std::size_t elements)
    : backend_(backend), parameters_(elements) {
  for (std::size_t i = 0; i < elements; ++i)
    parameters_[i] = static_cast<float>(line_of(i, 0).at(1 + backend.rank()));
  Range all{0, elements};
  backend.write(0, parameters_);
  backend.broadcast(all);
  parameters_ = backend.read(all);
  for (std::size_t i = 0; i < elements; ++i)
    if (parameters_[i] != static_cast<float>(line_of(i, 0).at(1)))
      throw RunFailed(
          fmt::format("rank {}: parameter {} is not rank 0's after the broadcast", backend.rank(), i));
  require_equal();
  backend.write(0, std::vector<float>(elements));
}

void Replica::fill(const Step& step, unsigned round) {
  int rank = backend_.rank(), ranks = backend_.world_size();
  auto collectives = step.collectives();
  for (std::size_t c = 0; c < collectives.size(); ++c) {
    auto operation = collectives[c]->operation;
    bool is_gathered = is_in_parts(operation) && !reduces(operation);
    auto range = is_gathered ? step.ranges[c].part(rank, ranks) : step.ranges[c];
    std::vector<float> values(range.count);
    for (std::size_t i = 0; i < range.count; ++i)
      values[i] = static_cast<float>(line_of(range.first + i, round).at(rank) / ranks);
    backend_.write(range.first, values);
  }
}

void Replica::check(const Step& step, unsigned round) {
  constexpr double kRoundOff = 1e-6;  // relative to the values, a thousand ranks at float32
  int rank = backend_.rank(), ranks = backend_.world_size();
  double middle = (ranks - 1) / 2.0;
  auto collectives = step.collectives();
  for (std::size_t c = 0; c < collectives.size(); ++c) {
    auto operation = collectives[c]->operation;
    bool is_gathered = is_in_parts(operation) && !reduces(operation),
         is_scattered = is_in_parts(operation) && reduces(operation);
    auto range = is_scattered ? step.ranges[c].part(rank, ranks) : step.ranges[c];
    auto each = std::max<std::size_t>(1, step.ranges[c].count / static_cast<std::size_t>(ranks));
    auto found = backend_.read(range);
    for (std::size_t i = 0; i < found.size(); ++i) {
      auto line = line_of(range.first + i, round);
      double scale = std::abs(line.base) + 2 * middle * line.slope;
      auto owner = i / each;
      double expected = is_gathered ? line.at(static_cast<double>(owner)) / ranks : line.at(middle);
      if (!(std::abs(found[i] - expected) <= kRoundOff * (1 + scale)))
        throw RunFailed(fmt::format(
            "rank {}: element {} of {} {} is {}, and {} is {}", rank, i, operation_words(operation), c,
            found[i], is_gathered ? fmt::format("rank {}'s", owner) : "the average over the ranks",
            expected));
      if (!is_scattered) parameters_[range.first + i] -= 0.01F * found[i];
    }
  }
  for (const auto& range : step.ranges) backend_.write(range.first, std::vector<float>(range.count));
}

void Replica::require_equal() {
  require_equal_on_all_ranks(backend_, digest(parameters_), "parameters");
}

}  // namespace ddpsim::validate
