#pragma once
// For options that take the name of a preset: what completion offers.
#include <functional>
#include <string>
#include <vector>

#include "sim/text/presets.hpp"

namespace ddpsim::cli {

std::function<std::vector<std::string>()> names_of(PresetKind kind);
std::vector<std::string> names_of_any_kind();  // each once
std::vector<std::string> names_of_kinds();     // "gpus"

}  // namespace ddpsim::cli
