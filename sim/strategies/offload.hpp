#pragma once
// What is kept and stepped on the host, whoever's it is.
#include <string_view>

#include "sim/base/note.hpp"
#include "sim/program/host.hpp"
#include "sim/trace/layer_trace.hpp"

namespace ddpsim {

// Parameters, gradients and moments of all ranks of a host: so many bytes of each trained parameter, and of
// each frozen one.
Note host_memory_note(const Host& host, const LayerTrace& trace, double of_trained, double of_frozen);
[[noreturn]] void refuse_offload_of_parts(std::string_view key);

}  // namespace ddpsim
