#pragma once
// What a scenario will take of the machine it is simulated on, where that is much: said before anything is
// read.
#include <optional>

#include "sim/base/note.hpp"
#include "sim/config/value.hpp"

namespace ddpsim {

// Code `slow`. `root` is as it was loaded; `sweeps`: every point of its sweep is simulated, else one.
std::optional<Note> slow_note(config::Value root, bool sweeps);

}  // namespace ddpsim
