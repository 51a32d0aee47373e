#pragma once
// Schedules to break, and what the verifier says of them.
#include <string>

#include "sim/collective/algorithms.hpp"
#include "sim/collective/verify.hpp"

#include "tests/collective/wirings.hpp"

namespace ddpsim::testing {

inline std::string error_of(const CollectiveSchedule& schedule) {
  return find_schedule_error(schedule).value_or("none");
}

inline Channel& channel(CollectiveSchedule& schedule, int stage = 0, int channel = 0) {
  return schedule.stages.at(stage).channels.at(channel);
}

}  // namespace ddpsim::testing
