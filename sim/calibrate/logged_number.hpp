#pragma once
// Numbers behind words, in the lines of a log.
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

#include "sim/base/source.hpp"

namespace ddpsim::calibrate {

struct LoggedNumber {
  double value = 0;
  double half_digit = 0;  // half a unit of the last digit that is printed
  SourceSpan place;
};

// The number behind `key` in a line, from `column` on; "1,234", '12' and = 12 are numbers, too. None: the
// line has no such key, or something else behind it.
std::optional<LoggedNumber> number_after(const std::shared_ptr<const SourceFile>& log, std::size_t line,
                                         std::string_view key, std::size_t column = 0);

// The same of a time or a rate; throws InputError where the key stands without a number.
std::optional<LoggedNumber> figure_after(const std::shared_ptr<const SourceFile>& log, std::size_t line,
                                         std::string_view key, std::size_t column = 0);

// Checked; each throws InputError at its place.
double seconds_of(const LoggedNumber& number, double unit);  // above 0, to 1e9 s
double rate_of(const LoggedNumber& number);                  // above 0
std::int64_t iteration_of(const LoggedNumber& number);

// A figure that a run has once; throws InputError at another value of it.
void keep_same(std::optional<LoggedNumber>& figure, std::optional<LoggedNumber> found);

}  // namespace ddpsim::calibrate
