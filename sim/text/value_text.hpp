#pragma once
#include <string>

#include "sim/config/value.hpp"

namespace ddpsim {

// Appends the text a value (null: none) was read from, whatever its layout: equal texts, equal meaning.
void append_text(std::string& text, const config::Value* value);

}  // namespace ddpsim
