#include "sim/report/figures.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include <fmt/format.h>

namespace ddpsim {
namespace {

// From so much on, in falling order.
struct UnitFrom {
  double from;
  Unit unit;
};

std::span<const UnitFrom> units_of(Measure measure) {
  static constexpr std::array kNumbers{UnitFrom{1e9, {1e9, "G"}}, UnitFrom{1e6, {1e6, "M"}},
                                       UnitFrom{1e3, {1e3, "k"}}, UnitFrom{0, {1, ""}}};
  static constexpr std::array kTimes{UnitFrom{2 * 86400, {86400, "days"}}, UnitFrom{7200, {3600, "h"}},
                                     UnitFrom{1, {1, "s"}}, UnitFrom{1e-3, {1e-3, "ms"}},
                                     UnitFrom{0, {1e-6, "us"}}};
  static constexpr std::array kBytes{UnitFrom{1e12, {1e12, "TB"}}, UnitFrom{1e9, {1e9, "GB"}},
                                     UnitFrom{1e6, {1e6, "MB"}}, UnitFrom{0, {1e3, "kB"}}};
  static constexpr std::array kBinary{UnitFrom{0x1p40, {0x1p40, "TiB"}}, UnitFrom{0x1p30, {0x1p30, "GiB"}},
                                      UnitFrom{0x1p20, {0x1p20, "MiB"}}, UnitFrom{0x1p10, {0x1p10, "KiB"}},
                                      UnitFrom{0, {1, "B"}}};
  static constexpr std::array kBandwidths{UnitFrom{1e12, {1e12, "TB/s"}}, UnitFrom{1e9, {1e9, "GB/s"}},
                                          UnitFrom{1e6, {1e6, "MB/s"}}, UnitFrom{0, {1e3, "kB/s"}}};
  switch (measure) {
    case Measure::bandwidth:
      return kBandwidths;
    case Measure::time:
      return kTimes;
    case Measure::bytes:
      return kBytes;
    case Measure::binary_bytes:
      return kBinary;
    case Measure::number:
      break;
  }
  return kNumbers;
}

std::vector<double> sizes_of(std::span<const double> values) {
  std::vector<double> sizes;
  for (double value : values)
    if (value != 0 && std::isfinite(value)) sizes.push_back(std::abs(value));
  std::ranges::sort(sizes);
  return sizes;
}

int magnitude(double size) {
  return static_cast<int>(std::floor(std::log10(size)));
}

}  // namespace

Unit unit_of(Measure measure, std::span<const double> values) {
  auto sizes = sizes_of(values);
  if (sizes.empty()) return units_of(measure).back().unit;
  // Numbers that people read as they are.
  if (measure == Measure::number && sizes.front() < 1000 && sizes.back() < 10000) return {};
  double middle = sizes[sizes.size() / 2];
  return std::ranges::find_if(units_of(measure), [&](const UnitFrom& one) { return middle >= one.from; })
      ->unit;
}

int decimals_of(std::span<const double> values) {
  auto sizes = sizes_of(values);
  if (sizes.empty()) return 0;
  int power = magnitude(sizes.front());
  int digits = sizes.front() / std::pow(10, power) < 2 ? 4 : 3;
  return std::max(0, std::min(digits - 1 - power, 3 - magnitude(sizes.back())));
}

std::string decimal_text(double value, int decimals) {
  auto text = fmt::format("{:.{}f}", value, decimals);
  auto end = std::min(text.find('.'), text.size());
  auto begin = text.front() == '-' ? 1U : 0U;
  for (auto at = end; at > begin + 3; at -= 3) text.insert(at - 3, ",");
  return text;
}

std::string short_text(double value, Measure measure) {
  auto unit = unit_of(measure, std::array{value});
  double scaled = value / unit.size;
  bool is_whole = std::abs(scaled) >= 999.5 || (scaled == std::round(scaled) && std::abs(scaled) < 10000);
  int decimals = is_whole || scaled == 0 ? 0 : std::max(0, 2 - magnitude(std::abs(scaled)));
  return fmt::format("{}{}{}", decimal_text(scaled, decimals), measure == Measure::number ? "" : " ",
                     unit.name);
}

std::string time_text(double seconds) {
  auto unit = unit_of(Measure::time, std::array{seconds});
  double scaled = seconds / unit.size;
  return fmt::format("{} {}", decimal_text(scaled, decimals_of(std::array{scaled})), unit.name);
}

std::string time_text(double seconds, double least, double most, std::string_view how_sure) {
  auto unit = unit_of(Measure::time, std::array{seconds});
  double scaled = seconds / unit.size;
  int decimals = decimals_of(std::array{scaled});
  return fmt::format("{} {} ({}–{}, {})", decimal_text(scaled, decimals), unit.name,
                     decimal_text(least / unit.size, decimals), decimal_text(most / unit.size, decimals),
                     how_sure);
}

}  // namespace ddpsim
