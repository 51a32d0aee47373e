#pragma once
// What `ddpsim list` prints: a line for each preset of a kind.
#include <string>
#include <vector>

#include "sim/result/columns.hpp"

namespace ddpsim {

struct PresetFact {
  std::string key;      // in JSON: "memory_bytes"
  std::string heading;  // on the console: "memory"
  Cell value;           // none: not known of this one
  std::string text;     // of the value on the console
};

// The same keys in the same order in every row.
using PresetRow = std::vector<PresetFact>;

std::string preset_table(const std::vector<PresetRow>& rows);
std::string preset_json(const std::string& kind, const std::vector<PresetRow>& rows);

}  // namespace ddpsim
