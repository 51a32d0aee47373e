#pragma once
// What a program's text may name of the model that is trained.
#include "sim/program/physics.hpp"
#include "sim/program/written_program.hpp"
#include "sim/trace/layer_trace.hpp"

namespace ddpsim {

// Of the passes cut at the model's blocks, as sharded strategies cut them; parameters are of that type.
ProgramSymbols program_symbols(const LayerTrace& trace, DType computed);
// What `copy` takes.
void set_copies(const Overheads& overheads, ProgramSymbols& symbols);

}  // namespace ddpsim
