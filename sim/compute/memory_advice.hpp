#pragma once
// What would let a step that does not fit into a GPU's memory fit.
#include <string>
#include <vector>

#include "sim/compute/model_step.hpp"

namespace ddpsim {

struct MemoryOption {
  std::string change;  // "recompute: full"
  Bytes peak;
};

// Each of what usually helps and is not in use yet, alone and then together, on so many data-parallel ranks;
// last, the fewest ranks (a power of two) on which all of it fits, if there are any.
std::vector<MemoryOption> memory_options(const ModelStep& step, const HeldStates& held, int ranks);

}  // namespace ddpsim
