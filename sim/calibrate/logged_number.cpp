#include "sim/calibrate/logged_number.hpp"

#include <algorithm>
#include <charconv>
#include <cmath>

#include <fmt/format.h>

namespace ddpsim::calibrate {
namespace {

constexpr std::string_view kIsWhole = "is the line whole? Remove it otherwise";

}  // namespace

std::optional<LoggedNumber> number_after(const std::shared_ptr<const SourceFile>& log, std::size_t line,
                                         std::string_view key, std::size_t column) {
  const auto& text = log->lines[line];
  auto at = text.find(key, column);
  if (at == std::string::npos) return std::nullopt;
  at = text.find_first_not_of(" '\"=", at + key.size());
  if (at == std::string::npos) return std::nullopt;
  auto end = std::min(text.find_first_not_of("0123456789.,eE+-", at), text.size());
  auto written = std::string_view(text).substr(at, end - at);
  while (!written.empty() && (written.back() == ',' || written.back() == '.')) written.remove_suffix(1);
  std::string digits;
  std::copy_if(written.begin(), written.end(), std::back_inserter(digits), [](char c) { return c != ','; });
  LoggedNumber number;
  const char* last = digits.data() + digits.size();
  auto [read, error] = std::from_chars(digits.data(), last, number.value);
  if (error != std::errc() || read == digits.data() || !std::isfinite(number.value)) return std::nullopt;
  number.place = {log, static_cast<int>(line) + 1, static_cast<int>(at) + 1,
                  static_cast<int>(written.size())};
  auto mantissa = std::min(digits.find_first_of("eE"), digits.size());
  auto point = std::min(digits.find('.'), mantissa);
  auto decimals = point == mantissa ? 0 : mantissa - point - 1;
  number.half_digit = 0.5 * std::pow(10.0, -static_cast<double>(decimals));
  return number;
}

std::optional<LoggedNumber> figure_after(const std::shared_ptr<const SourceFile>& log, std::size_t line,
                                         std::string_view key, std::size_t column) {
  auto number = number_after(log, line, key, column);
  auto at = log->lines[line].find(key, column);
  if (number || at == std::string::npos) return number;
  throw InputError(
      SourceSpan{log, static_cast<int>(line) + 1, static_cast<int>(at) + 1, static_cast<int>(key.size())},
      "no number follows", kIsWhole);
}

double seconds_of(const LoggedNumber& number, double unit) {
  if (!(number.value > 0) || number.value * unit > 1e9)
    throw InputError(number.place, "no step takes that long", kIsWhole);
  return number.value * unit;
}

double rate_of(const LoggedNumber& number) {
  if (!(number.value > 0) || number.value > 1e18)
    throw InputError(number.place, "no step has that rate", kIsWhole);
  return number.value;
}

std::int64_t iteration_of(const LoggedNumber& number) {
  if (number.value < 0 || number.value > 1e15 || number.value != std::floor(number.value))
    throw InputError(number.place, "this is no iteration", kIsWhole);
  return static_cast<std::int64_t>(number.value);
}

void keep_same(std::optional<LoggedNumber>& figure, std::optional<LoggedNumber> found) {
  if (!found) return;
  if (figure && figure->value != found->value)
    throw InputError(found->place,
                     fmt::format("a second run: {:.15g} here, and {:.15g} in line {}", found->value,
                                 figure->value, figure->place.line),
                     "keep the lines of one run");
  figure = std::move(found);
}

}  // namespace ddpsim::calibrate
