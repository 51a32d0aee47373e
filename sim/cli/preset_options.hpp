#pragma once
// For options that take the name of a preset or of a key: what completion offers.
#include <functional>
#include <string>
#include <vector>

#include "sim/text/presets.hpp"

namespace ddpsim::cli {

std::function<std::vector<std::string>()> names_of(PresetKind kind);
std::vector<std::string> names_of_any_kind();  // each once
std::vector<std::string> names_of_kinds();     // "gpus"
std::vector<std::string> names_of_keys();      // "ddp.bucket_cap=", of a scenario

}  // namespace ddpsim::cli
