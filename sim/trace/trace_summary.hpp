#pragma once
// A layer trace in words and small tables, for the console.
#include <string>

#include "sim/trace/layer_trace.hpp"

namespace ddpsim {

std::string summarize(const LayerTrace& trace);

}  // namespace ddpsim
