#pragma once
// What if all-reduces had less latency, or more bandwidth, where no links say what they take but a library's
// model, or a measured table?
#include "sim/base/units.hpp"

namespace ddpsim {

// An all-reduce takes what one of no bytes takes, its latency, and what grows with its size: so many times
// each.
struct AllReduceScale {
  double latency = 1, growing = 1;
  [[nodiscard]] bool is_none() const { return latency == 1 && growing == 1; }
  [[nodiscard]] Seconds operator()(Seconds time, Seconds of_no_bytes) const;
};

}  // namespace ddpsim
