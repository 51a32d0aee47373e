#pragma once
#include <span>

#include "sim/base/note.hpp"

namespace ddpsim::cli {

// "note: TEXT", a line each, to standard error.
void print_notes(std::span<const Note> notes);

}  // namespace ddpsim::cli
