#pragma once
// What is unlikely about a trace: times in another unit, sizes in bytes, a part of the model, times that are
// missing.
#include <vector>

#include "sim/base/note.hpp"
#include "sim/trace/layer_trace.hpp"

namespace ddpsim {

// Codes trace-incomplete, trace-times, trace-elements.
std::vector<Note> trace_notes(const LayerTrace& trace);

}  // namespace ddpsim
