#pragma once
#include <optional>
#include <string>

#include "sim/collective/schedule.hpp"

namespace ddpsim {

// Executes the schedule symbolically. Nothing when every rank ends with every contribution exactly once and
// no step was in vain; else what is wrong first ("rank 3, chunk 0: contribution of rank 1 counted 2 times").
// One-stage schedules of one ring.
std::optional<std::string> find_schedule_error(const CollectiveSchedule& schedule);

}  // namespace ddpsim
