#pragma once
// Which config.json can be read: families that are no stack of attention blocks, keys that change what a
// block is.
#include <optional>
#include <string_view>

#include "sim/config/value.hpp"

namespace ddpsim::hugging_face {

// Throws InputError where the file says that it is another kind of model, and which.
void check_family(const config::Value& root);
// Throws InputError at a key whose name tells of sizes, experts or attention and which is not known, unless
// its value is nothing (null, false, 0).
void check_keys(const config::Value& root);

// What a model_type is that is no stack of attention blocks ("an encoder and a decoder" of t5); none: not
// known to be something else.
std::optional<std::string_view> other_family(std::string_view type);

}  // namespace ddpsim::hugging_face
