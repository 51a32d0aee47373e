#pragma once
#include "sim/compute/model_layers.hpp"
#include "sim/model/transformer.hpp"

namespace ddpsim {

// A transformer as layers that compute and move: with fused attention (its scores never reach memory, and no
// causal half is saved) and kernels that fuse no further; without a gate with dropout, as GPT-2, with one
// without, as Llama. docs/model.md has the counts. Extra parameters compute nothing.
Model transformer_layers(const Transformer& transformer, std::int64_t sequence);

}  // namespace ddpsim
