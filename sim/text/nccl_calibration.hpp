#pragma once
// Calibration files (docs/reference/measured.md): what curves a topology's all-reduces follow.
#include <string>

#include "sim/nccl/cost_model.hpp"

namespace ddpsim {

// Throws InputError with the place and a hint.
nccl::Calibration read_calibration(const std::string& path);

// Whose estimates its scales multiply: files that do not say it were fitted to those of 2.27.6.
nccl::Version release_of(const nccl::Calibration& calibration);

}  // namespace ddpsim
