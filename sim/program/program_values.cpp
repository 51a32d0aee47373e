#include "sim/program/program_values.hpp"

#include <charconv>

#include "sim/base/limits.hpp"
#include "sim/base/quantity.hpp"
#include "sim/base/suggest.hpp"

namespace ddpsim {
namespace {

bool is_number_like(std::string_view word) {
  return word.find_first_of("0123456789.-+") == 0;
}

}  // namespace

template <class T>
T ProgramValues::value(WordReader& words, const char* what) {
  constexpr bool is_time = std::is_same_v<T, Seconds>;
  constexpr auto kHint = is_time ? "write a time like 1.2ms, block.3.forward or optimizer/8"
                                 : "write a size like 25MiB, block.3.parameters or 2B*block.3.elements";
  auto place = words.place();
  bool has_unit = false;
  double product = 1;
  for (bool divides = false, is_first = true;; is_first = false) {
    const auto& word = words.take(what, kHint);
    auto [factor, is_quantity] = factor_of<T>(word, kHint);
    if (is_quantity && (has_unit || divides))
      throw InputError(word.span, divides ? "one divides by a number" : "one multiplies by numbers", kHint);
    if (divides && factor == 0) throw InputError(word.span, "one does not divide by zero", kHint);
    has_unit |= is_quantity;
    product = is_first ? factor : divides ? product / factor : product * factor;
    divides = words.take("/");
    if (!divides && !words.take("*")) break;
  }
  constexpr T kMost = [] {
    if constexpr (is_time)
      return kLongestDuration;
    else
      return kLargestByteCount;
  }();
  if (!has_unit) throw InputError(place, fmt::format("{} has no unit", what), kHint);
  if (!(product >= 0) || !(product < kMost.value()))
    throw InputError(place, fmt::format("{} is out of range", what),
                     is_time ? "it must be below 10^9 s" : "it must be below 8 PiB");
  return T(product == 0 ? 0 : product);  // which has a sign
}

template <class T>
std::pair<double, bool> ProgramValues::factor_of(const Located& word, const char* hint) {
  if (is_number_like(word.text)) {
    double number = 0;
    const auto* end = word.text.data() + word.text.size();
    if (auto [rest, error] = std::from_chars(word.text.data(), end, number);
        error == std::errc() && rest == end)
      return {parse_number(word, 0, kMostProgramFactor), false};
    if constexpr (std::is_same_v<T, Seconds>)
      return {parse_seconds(word).value(), true};
    else
      return {parse_unrounded_bytes(word).value(), true};
  }
  if (auto counted = count(word.text)) return {static_cast<double>(*counted), false};
  auto found = symbols_.values.find(word.text);
  if (found == symbols_.values.end()) {
    std::vector<std::string> known;
    for (const auto& [name, value] : symbols_.values) known.push_back(name);
    for (const auto& [name, value] : symbols_.counts) known.push_back(name);
    throw InputError(word.span,
                     fmt::format("the model has no '{}'{}", word.text, did_you_mean(word.text, known)), hint);
  }
  if (const auto* value = std::get_if<T>(&found->second)) return {value->value(), true};
  bool is_time = std::holds_alternative<Seconds>(found->second);
  throw InputError(
      word.span,
      fmt::format("'{}' is a {}, not a {}", word.text, is_time ? "time" : "size", is_time ? "size" : "time"),
      hint);
}

Seconds ProgramValues::time(WordReader& words, const char* what) {
  return value<Seconds>(words, what);
}

Bytes ProgramValues::size(WordReader& words, const char* what) {
  return value<Bytes>(words, what);
}

Seconds ProgramValues::copy(WordReader& words) {
  auto bytes = size(words, "the size of what is copied");
  const auto& bandwidth = symbols_.copy_bandwidth;
  return bandwidth ? symbols_.copy_launch + 2 * bytes / *bandwidth : Seconds();
}

std::optional<std::int64_t> ProgramValues::count(std::string_view name) {
  auto found = symbols_.counts.find(name);
  if (found == symbols_.counts.end()) return std::nullopt;
  named_.emplace(name);
  return found->second;
}

}  // namespace ddpsim
