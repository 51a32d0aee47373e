#pragma once
// Files that come with ddpsim and have a name: topologies, GPUs, models, software, fabrics.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/value.hpp"

namespace ddpsim {

enum class PresetKind { topologies, gpus, models, software, fabrics };

// The file of `name` ("h100-sxm"), without extension; none: no preset of that name has one.
std::optional<std::string> find_preset(PresetKind kind, std::string_view name);
std::vector<std::string> preset_names(PresetKind kind);  // sorted; models: those that are no files, too

// A word without '/' and '.' is a preset's name: its file, or an error that names the closest preset.
// Anything else is a path: none.
std::optional<std::string> preset_file(PresetKind kind, const config::Value& value);

}  // namespace ddpsim
