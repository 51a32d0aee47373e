#pragma once
#include "sim/compute/model_layers.hpp"
#include "sim/trace/gpt2.hpp"

namespace ddpsim {

// GPT-2 with a tied embedding, dropout, fused attention (its scores never reach memory, and no causal half
// is saved) and kernels that fuse no further. docs/model.md has the counts.
Model gpt2_model(const Gpt2Size& size);

}  // namespace ddpsim
