#pragma once
// Values of a config.json, in which a key may be missing or null, and have several names.
#include <cstdint>
#include <functional>
#include <initializer_list>
#include <string>

#include "sim/config/reader.hpp"
#include "sim/config/value.hpp"

namespace ddpsim::hugging_face {

using Keys = std::initializer_list<const char*>;

// A width or count of what a model is made of. Throws InputError.
std::int64_t as_size(const config::Value& value);
// The first of several keys that is there and not null; null: none is.
const config::Value* first(const config::Value& root, Keys keys);
// The same; throws InputError where none is.
const config::Value& needed(const config::Value& root, Keys keys);
// 0: it is not there, or null.
std::int64_t size_of(const config::Value& root, Keys keys);
bool is_true(const config::Value* value, bool otherwise);
std::string word_of(const config::Value* value, const char* fallback);
// Its model_type; empty: it says none.
std::string type_of(const config::Value& root);

}  // namespace ddpsim::hugging_face
