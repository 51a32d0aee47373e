#pragma once
// --set key.path=value.
#include <string>
#include <vector>

#include "sim/config/value.hpp"

namespace ddpsim::config {

// What stands at a path of keys ("ddp.bucket_cap"); null: nothing.
const Value* find_at(const Value& root, std::string_view path);

// Puts `value` at the dotted key path, creating maps on the way. Throws InputError (at `place`) when a part
// of the path is not a map.
void set_at(Value& root, std::string_view path, Value value, const SourceSpan& place);

// Applies one "key.path=value" from the command line: replaces that key and removes its sweep axis and those
// below it. Errors point into the argument itself, of the option that it was typed with. A path that starts
// with "sweep." replaces that axis.
void apply_override(Value& root, const std::string& assignment, const std::string& option = "--set");

}  // namespace ddpsim::config
