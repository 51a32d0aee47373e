#pragma once
// Whether what several ranks were recorded to do fits together.
#include <span>

#include "sim/program/recorded_program.hpp"

namespace ddpsim {

// Throws InputError where ranks of a communicator do different things there, where what one sends the other
// does not receive, or where each waits for the other.
void check_order(const Recordings& recordings, const RecordedRanks& ranks,
                 std::span<const RecordedProgram> programs);

}  // namespace ddpsim
