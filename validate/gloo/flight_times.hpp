#pragma once
#include <vector>

#include "validate/gloo/host_clock.hpp"
#include "validate/harness/step.hpp"

namespace ddpsim::validate {

struct Flight {
  Moment launch = 0, end = 0;
};

// Of collectives that have ended: each started once it was launched and one of so many threads was free.
std::vector<CollectiveTimes> times_of(const std::vector<Flight>& flights, int threads, Moment start);

}  // namespace ddpsim::validate
