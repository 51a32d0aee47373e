#pragma once
// Transformers by their sizes: `kind: transformer` maps (docs/reference/gpu-model-software.md, "Model").
#include <string>

#include "sim/config/value.hpp"
#include "sim/model/transformer.hpp"

namespace ddpsim {

// A `kind: transformer` map; `name` where it has none.
Transformer read_transformer(const config::Value& root, const std::string& name);

// The same as text, every key said.
std::string write_transformer(const Transformer& model);

// Throws InputError, at `span`, where heads do not share keys evenly or the model is beyond all bounds; where
// a token goes to more experts than there are, or no block has any.
void check_sizes(const Transformer& model, const SourceSpan& span);
void check_experts(const Transformer& model, const SourceSpan& span);

}  // namespace ddpsim
