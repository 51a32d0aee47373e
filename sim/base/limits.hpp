#pragma once
#include "sim/base/units.hpp"

namespace ddpsim {

inline constexpr int kLargestWorldSize = 1 << 20;
inline constexpr Bytes kLargestByteCount(0x1p53);  // 8 PiB: whole byte counts below are exact as doubles

inline constexpr double kLargestInterference = 100;  // a hundred times as slow

}  // namespace ddpsim
