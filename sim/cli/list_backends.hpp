#pragma once
#include <vector>

#include "sim/report/preset_list.hpp"

namespace ddpsim::cli {

// By library and operation: where its times come from with tensors on GPUs and on CPUs, and what carries it
// out in a real run.
std::vector<PresetRow> backend_rows();

}  // namespace ddpsim::cli
