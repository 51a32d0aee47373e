#pragma once
#include <string>

#include "sim/gpu/gpu_description.hpp"

namespace ddpsim {

// Throws InputError with the place and a hint for anything that is not such a file.
GpuDescription read_gpu(const std::string& path);

}  // namespace ddpsim
