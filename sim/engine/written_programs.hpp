#pragma once
// The program of a scenario as its text says it.
#include "sim/engine/scenario.hpp"
#include "sim/program/written_program.hpp"

namespace ddpsim {

// A class for each rank of a pipeline; of rank 0 and of the others, where that one does more.
WrittenProgram written_program(const Scenario& scenario);

}  // namespace ddpsim
