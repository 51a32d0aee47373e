#pragma once
// Options that take a preset's name or a path.
#include <string>

#include "sim/text/presets.hpp"

namespace ddpsim::cli {

// The path to open for what the option was given: a file of that path, else the preset of that name. Throws
// InputError, naming the option, for a word that is neither.
std::string preset_path(PresetKind kind, const std::string& option, const std::string& given);

}  // namespace ddpsim::cli
