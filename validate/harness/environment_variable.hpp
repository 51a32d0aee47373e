#pragma once
// What the launchers of ranks say in the environment.
#include <optional>
#include <string>

namespace ddpsim::validate {

// Its value; a variable that is set to nothing counts as not set.
std::optional<std::string> environment_variable(const char* name);

// As above. Throws InputError with the hint where it is not set.
std::string required_variable(const char* name, const std::string& hint);

// Its value as a whole number from `least` to `most`. Throws InputError naming it where it is anything else,
// or not set.
int required_number(const char* name, int least, int most, const std::string& hint);

}  // namespace ddpsim::validate
