#include "sim/base/quantity.hpp"

#include <array>
#include <charconv>
#include <cmath>
#include <optional>
#include <span>
#include <string_view>

#include <fmt/core.h>

#include "sim/base/limits.hpp"

namespace ddpsim {
namespace {

struct Unit {
  std::string_view name;
  double factor;
};

struct UnitTable {
  std::string_view what;     // "a size"
  std::string_view example;  // "25MiB"
  std::optional<double> (*factor)(std::string_view unit);
};

constexpr std::array<Unit, 10> kPrefixes{{{"Ki", 1024.0},
                                          {"Mi", 1048576.0},
                                          {"Gi", 1073741824.0},
                                          {"Ti", 1099511627776.0},
                                          {"k", 1e3},
                                          {"K", 1e3},
                                          {"M", 1e6},
                                          {"G", 1e9},
                                          {"T", 1e12},
                                          {"", 1.0}}};

std::optional<double> prefixed(std::string_view unit, std::string_view base, double base_factor) {
  if (!unit.ends_with(base)) return std::nullopt;
  unit.remove_suffix(base.size());
  for (const auto& prefix : kPrefixes)
    if (unit == prefix.name) return prefix.factor * base_factor;
  return std::nullopt;
}

std::optional<double> byte_unit(std::string_view unit) {
  if (auto bytes = prefixed(unit, "B", 1.0)) return bytes;
  return prefixed(unit, "b", 0.125);
}

std::optional<double> bandwidth_unit(std::string_view unit) {
  for (std::string_view per : {"/s", "ps"})
    if (unit.ends_with(per)) return byte_unit(unit.substr(0, unit.size() - per.size()));
  return std::nullopt;
}

std::optional<double> time_unit(std::string_view unit) {
  constexpr std::array<Unit, 7> units{
      {{"s", 1.0}, {"ms", 1e-3}, {"us", 1e-6}, {"\xC2\xB5s", 1e-6}, {"ns", 1e-9}, {"min", 60}, {"h", 3600}}};
  for (const auto& known : units)
    if (unit == known.name) return known.factor;
  return std::nullopt;
}

std::optional<double> flops_rate_unit(std::string_view unit) {
  constexpr std::string_view per_second = "FLOP/s";
  if (unit == "PFLOP/s") return 1e15;
  if (!unit.ends_with(per_second) || unit.find('i') != std::string_view::npos) return std::nullopt;
  return prefixed(unit, per_second, 1.0);
}

// Sizes are written in bytes: 25Mb for a bucket cap is a slip, not 3.1 MB.
std::optional<double> size_unit(std::string_view unit) {
  return prefixed(unit, "B", 1.0);
}

constexpr UnitTable kBytes{"a size", "25MiB", size_unit};
constexpr UnitTable kBandwidth{"a bandwidth", "100Gbps or 12.5GB/s", bandwidth_unit};
constexpr UnitTable kTime{"a time", "5us", time_unit};
constexpr UnitTable kFlopsRate{"a rate of operations", "66.9TFLOP/s", flops_rate_unit};

[[noreturn]] void fail(const Located& text, std::size_t offset, std::size_t length,
                       const std::string& message, const std::string& hint) {
  throw InputError(
      text.span.part(static_cast<int>(offset), static_cast<int>(std::max<std::size_t>(length, 1))), message,
      hint);
}

// The number at the front of the text and how many characters it takes.
std::pair<double, std::size_t> leading_number(const Located& text, std::string_view what,
                                              std::string_view example) {
  const char* begin = text.text.data();
  const char* end = begin + text.text.size();
  double value = 0;
  auto [rest, error] = std::from_chars(begin, end, value);
  auto used = static_cast<std::size_t>(rest - begin);
  if (error == std::errc::result_out_of_range)
    fail(text, 0, text.text.size(), fmt::format("'{}' is out of range", text.text),
         fmt::format("write {} like {}", what, example));
  if (error != std::errc() || used == 0)
    fail(text, 0, text.text.size(), fmt::format("'{}' is not {}", text.text, what),
         fmt::format("write it like {}", example));
  if (!std::isfinite(value))
    fail(text, 0, text.text.size(), fmt::format("'{}' is not a finite number", text.text),
         fmt::format("write {} like {}", what, example));
  return {value, used};
}

// The dimension another table would read this unit as, for the hint.
std::string_view dimension_of(std::string_view unit) {
  for (const auto* table : {&kBytes, &kBandwidth, &kTime, &kFlopsRate})
    if (table->factor(unit)) return table->what;
  return {};
}

double parse_with_unit(const Located& text, const UnitTable& table) {
  auto [value, used] = leading_number(text, table.what, table.example);
  std::string_view rest = std::string_view(text.text).substr(used);
  auto blanks = std::min(rest.find_first_not_of(' '), rest.size());
  rest.remove_prefix(blanks);
  if (rest.empty())
    fail(text, 0, text.text.size(), fmt::format("'{}' has no unit", text.text),
         fmt::format("write {} like {}", table.what, table.example));
  auto factor = table.factor(rest);
  if (!factor) {
    auto other = dimension_of(rest);
    auto message = other.empty() ? fmt::format("unknown unit '{}'", rest)
                                 : fmt::format("'{}' is {}, not {}", text.text, other, table.what);
    if (table.factor == kBytes.factor && prefixed(rest, "b", 0.125))
      message = fmt::format("'{}' counts bits, and sizes are in bytes", text.text);
    fail(text, used + blanks, rest.size(), message,
         fmt::format("write {} like {}", table.what, table.example));
  }
  if (value < 0 || std::signbit(value))
    fail(text, 0, text.text.size(), fmt::format("'{}' is negative", text.text),
         fmt::format("{} cannot be negative", table.what));
  return value * *factor;
}

void check_below(const Located& text, double value, double limit, const std::string& limit_text) {
  if (!(value < limit))
    fail(text, 0, text.text.size(), fmt::format("'{}' is out of range", text.text),
         fmt::format("it must be below {}", limit_text));
}

std::string with_prefix(double value, double base, std::span<const std::string_view> units) {
  std::size_t i = 0;
  while (i + 1 < units.size() && value >= base * (1 - 5e-5)) value /= base, ++i;
  return fmt::format("{:.4g} {}", value, units[i]);
}

}  // namespace

Bytes parse_bytes(const Located& text) {
  return Bytes(std::round(parse_unrounded_bytes(text).value()));
}

Bytes parse_unrounded_bytes(const Located& text) {
  double bytes = parse_with_unit(text, kBytes);
  check_below(text, std::round(bytes), kLargestByteCount.value(), "8 PiB");
  return Bytes(bytes);
}

BytesPerSecond parse_bandwidth(const Located& text) {
  double bandwidth = parse_with_unit(text, kBandwidth);
  if (bandwidth <= 0)
    fail(text, 0, text.text.size(), "a bandwidth of zero carries nothing",
         "remove the link, or give it a bandwidth");
  check_below(text, bandwidth, 1e18, "10^18 B/s");
  return BytesPerSecond(bandwidth);
}

Seconds parse_seconds(const Located& text) {
  double seconds = parse_with_unit(text, kTime);
  check_below(text, seconds, kLongestDuration.value(), "10^9 s");
  return Seconds(seconds);
}

FlopsPerSecond parse_flops_rate(const Located& text) {
  double rate = parse_with_unit(text, kFlopsRate);
  if (rate <= 0)
    fail(text, 0, text.text.size(), "a rate of zero computes nothing", "write the peak of the data sheet");
  check_below(text, rate, 1e21, "10^21 FLOP/s");
  return FlopsPerSecond(rate);
}

double parse_number(const Located& text, double lowest, double highest) {
  auto [value, used] = leading_number(text, "a number", "1.5");
  if (used != text.text.size())
    fail(text, used, text.text.size() - used, fmt::format("'{}' is not a plain number", text.text),
         text.text.substr(used) == "%" ? fmt::format("write {}, as a share of one", value / 100)
                                       : "write the bare number, without a unit");
  if (value < lowest || value > highest)
    fail(text, 0, text.text.size(), fmt::format("{} is outside [{}, {}]", text.text, lowest, highest),
         "write a number in that range");
  return value;
}

std::int64_t parse_integer(const Located& text, std::int64_t lowest, std::int64_t highest) {
  std::int64_t value = 0;
  const char* end = text.text.data() + text.text.size();
  auto [rest, error] = std::from_chars(text.text.data(), end, value);
  if (error == std::errc::invalid_argument || (error == std::errc() && rest != end))
    fail(text, 0, text.text.size(), fmt::format("'{}' is not a whole number", text.text),
         fmt::format("write a whole number from {} to {}", lowest, highest));
  if (error != std::errc() || value < lowest || value > highest)
    fail(text, 0, text.text.size(), fmt::format("{} is out of range", text.text),
         fmt::format("write a number from {} to {}", lowest, highest));
  return value;
}

std::string format_bytes(Bytes bytes) {
  constexpr std::array<std::string_view, 5> units{"B", "KiB", "MiB", "GiB", "TiB"};
  return with_prefix(bytes.value(), 1024.0, units);
}

std::string format_bandwidth(BytesPerSecond bandwidth) {
  constexpr std::array<std::string_view, 5> units{"B/s", "kB/s", "MB/s", "GB/s", "TB/s"};
  return with_prefix(bandwidth.value(), 1000.0, units);
}

std::string format_seconds(Seconds time) {
  double s = time.value();
  double magnitude = std::abs(s);
  if (s == 0) return "0 s";
  if (magnitude < 1e-6) return fmt::format("{:.4g} ns", s * 1e9);
  if (magnitude < 1e-3) return fmt::format("{:.4g} us", s * 1e6);
  if (magnitude < 1) return fmt::format("{:.6g} ms", s * 1e3);
  return fmt::format("{:.6g} s", s);
}

std::string format_flops_rate(FlopsPerSecond rate) {
  constexpr std::array<std::string_view, 6> units{"FLOP/s",  "kFLOP/s", "MFLOP/s",
                                                  "GFLOP/s", "TFLOP/s", "PFLOP/s"};
  return with_prefix(rate.value(), 1000.0, units);
}

}  // namespace ddpsim
