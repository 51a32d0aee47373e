#pragma once
// Text to quantities and back: "25MiB", "100Gbps", "300GB/s", "2us", "66.9TFLOP/s". 'B' is byte and 'b' bit;
// k, M, G, T are powers of 1000 and Ki, Mi, Gi, Ti powers of 1024. A bare number is an error: the unit is
// part of the value.
#include <cstdint>
#include <string>

#include "sim/base/source.hpp"
#include "sim/base/units.hpp"

namespace ddpsim {

// Each throws InputError at the part of the text that is wrong: no number, not finite, negative, out of
// range, missing or unknown unit, or a unit of another dimension.
Bytes parse_bytes(const Located& text);                // [0, 2^53), rounded to whole bytes
Bytes parse_unrounded_bytes(const Located& text);      // the same, as it is written: a part of a buffer
BytesPerSecond parse_bandwidth(const Located& text);   // (0, 1e18)
Seconds parse_seconds(const Located& text);            // [0, 1e9)
FlopsPerSecond parse_flops_rate(const Located& text);  // (0, 1e21); powers of 1000, P too

// Bare numbers, whole text. Throw InputError when not a finite number or outside [lowest, highest].
double parse_number(const Located& text, double lowest, double highest);
std::int64_t parse_integer(const Located& text, std::int64_t lowest, std::int64_t highest);

// For people: about four significant digits with a fitting unit ("25 MiB", "1.5 MiB", "3.74 ms", "12.5
// GB/s").
std::string format_bytes(Bytes bytes);
std::string format_bandwidth(BytesPerSecond bandwidth);
std::string format_seconds(Seconds time);
std::string format_flops_rate(FlopsPerSecond rate);

}  // namespace ddpsim
