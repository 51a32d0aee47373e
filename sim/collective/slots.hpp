#pragma once
// All-to-alls in rounds, in which what one rank sends another may go by way of a third.
#include <optional>
#include <string>

#include "sim/collective/schedule.hpp"

namespace ddpsim {

// A rank keeps what is for the rank d after it in slot d, the d-th of as many parts as there are ranks. A
// message takes what is in its slots to the same slots of another rank; at the end slot d holds what the rank
// d before has sent. What is wrong first.
std::optional<std::string> find_slot_error(const CollectiveSchedule& schedule);

}  // namespace ddpsim
