#pragma once
#include "sim/compute/model_layers.hpp"
#include "sim/model/transformer.hpp"

namespace ddpsim {

// A transformer without a gate, computed as GPT-2 is: with dropout, fused attention (its scores never reach
// memory, and no causal half is saved) and kernels that fuse no further. docs/model.md has the counts.
// Extra parameters compute nothing.
Model gpt2_model(const Transformer& transformer, std::int64_t sequence);

}  // namespace ddpsim
