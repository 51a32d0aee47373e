#pragma once
// Model files (docs/reference/gpu-model-software.md, "Model").
#include <string>

#include "sim/compute/model_layers.hpp"

namespace ddpsim {

// Throws InputError with the place and a hint for anything that is not such a file.
Model read_model(const std::string& path);

}  // namespace ddpsim
