#pragma once
// What is kept and stepped on the host, whoever's it is.
#include <string_view>

#include "sim/base/note.hpp"
#include "sim/program/host.hpp"
#include "sim/trace/layer_trace.hpp"

namespace ddpsim {

// Parameters, gradients and moments of all ranks of a host.
Note host_memory_note(const Host& host, const LayerTrace& trace, double bytes_of_a_parameter);
[[noreturn]] void refuse_offload_of_parts(std::string_view key);

}  // namespace ddpsim
