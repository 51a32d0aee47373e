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

// Of a step whose states are not sharded, on so many data-parallel ranks: each of what usually helps, alone
// and then together; last, the fewest ranks (a power of two) on which all of it fits, if there are any.
std::vector<MemoryOption> memory_options(const ModelStep& step, int ranks, Bytes buckets);

}  // namespace ddpsim
