#pragma once
// The programs of recorded steps: their streams as lanes, their groups as communicators, their waits as what
// ops wait for.
#include <memory>
#include <span>
#include <vector>

#include "sim/program/program.hpp"
#include "sim/program/recorded_ranks.hpp"
#include "sim/trace/recorded_step.hpp"

namespace ddpsim {

struct RecordedProgram {
  Program program;
  std::vector<std::size_t> items;  // by op, but for the one that ends the step: which it is, or begins with
};

// By recording. `ranks` is of the steps' recordings.
std::vector<RecordedProgram> recorded_programs(std::span<const std::shared_ptr<const RecordedStep>> steps,
                                               const RecordedRanks& ranks);

}  // namespace ddpsim
