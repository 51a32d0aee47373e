#pragma once
// Which blocks of a config.json have experts, and how each attends.
#include <string>

#include "sim/config/value.hpp"
#include "sim/model/transformer.hpp"

namespace ddpsim::hugging_face {

// Sets `blocks`, `window` and `linear` of a model whose layers, heads and experts are read. Throws
// InputError.
void read_blocks(const config::Value& root, const std::string& type, Transformer& model);

}  // namespace ddpsim::hugging_face
