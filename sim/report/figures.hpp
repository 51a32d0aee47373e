#pragma once
// Numbers as people read them: three significant digits, four where the smallest of a column begins with 1;
// one unit and one number of decimals a column.
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace ddpsim {

// What is counted, which has units of its own.
enum class Measure { number, time, bytes, binary_bytes, bandwidth };

// "ms" for 0.001 of a second.
struct Unit {
  double size = 1;
  std::string_view name = "";
};
// One for all of them: that of their median.
Unit unit_of(Measure measure, std::span<const double> values);

// So that the smallest has three significant digits, and the largest no more than one needs.
int decimals_of(std::span<const double> values);

// With commas between thousands: "1,157".
std::string decimal_text(double value, int decimals);
// Three digits and a unit of its own: "59.7k", "3.54M", "22.4 MiB", "512 MiB".
std::string short_text(double value, Measure measure);
// "1.182 s (1.121–1.243, 80 %)"; without an interval "1.182 s".
std::string time_text(double seconds);
std::string time_text(double seconds, double least, double most, std::string_view how_sure);

}  // namespace ddpsim
