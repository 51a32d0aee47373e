#pragma once
// Calibration files (docs/formats.md): what curves a topology's all-reduces follow.
#include <string>

#include "sim/nccl/cost_model.hpp"

namespace ddpsim {

// Throws InputError with the place and a hint.
nccl::Calibration read_calibration(const std::string& path);

}  // namespace ddpsim
