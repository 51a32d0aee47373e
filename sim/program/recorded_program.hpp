#pragma once
// The program of a recorded step: its streams as lanes, its groups as communicators, its waits as what ops
// wait for.
#include <vector>

#include "sim/program/program.hpp"
#include "sim/trace/recorded_step.hpp"

namespace ddpsim {

// The groups that communicate on the GPU, by the program's communicators: several ranks each, of those that
// PyTorch gives streams of their own.
std::vector<std::size_t> recorded_groups(const Recording& recording);

// What each of its groups does, each operation once, in their order.
std::vector<std::vector<Operation>> recorded_operations(const Recording& recording);

Program recorded_program(const RecordedStep& step);

}  // namespace ddpsim
