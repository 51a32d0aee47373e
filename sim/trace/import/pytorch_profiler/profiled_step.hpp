#pragma once
// The last step of a trace of the PyTorch profiler, as the host issued it.
#include <string>

#include "sim/trace/profiled_step.hpp"

namespace ddpsim::pytorch_profiler {

// Between the marks of the last ProfilerStep; without any, all of it. Throws InputError for what is no such
// trace, and for one that does not say the sizes of its collectives.
ProfiledStep read_profiled_step(const std::string& path);

}  // namespace ddpsim::pytorch_profiler
