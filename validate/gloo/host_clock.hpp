#pragma once
#include <cstdint>

#include "sim/base/units.hpp"

namespace ddpsim::validate {

// Nanoseconds on the host's monotonic clock.
using Moment = std::int64_t;

Moment now();

constexpr Seconds between(Moment start, Moment end) {
  return Seconds(1e-9 * static_cast<double>(end - start));
}

}  // namespace ddpsim::validate
