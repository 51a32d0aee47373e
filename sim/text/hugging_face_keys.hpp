#pragma once
// Which config.json can be read: families that are no stack of attention blocks, keys that change what a
// block is.
#include "sim/config/value.hpp"

namespace ddpsim::hugging_face {

// Throws InputError where the file says that it is another kind of model, and which.
void check_family(const config::Value& root);
// Throws InputError at a key whose name tells of sizes, experts or attention and which is not known, unless
// its value is nothing (null, false, 0).
void check_keys(const config::Value& root);

}  // namespace ddpsim::hugging_face
