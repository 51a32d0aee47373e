#pragma once
// What `ddpsim list` prints: a line for each preset of a kind.
#include <cstdint>
#include <string>
#include <variant>
#include <vector>

namespace ddpsim {

struct PresetFact {
  std::string key;                                                        // in JSON: "memory_bytes"
  std::string heading;                                                    // on the console: "memory"
  std::variant<std::monostate, std::int64_t, double, std::string> value;  // none: not known of this one
  std::string text;                                                       // of the value on the console
};

// The same keys in the same order in every row.
using PresetRow = std::vector<PresetFact>;

std::string preset_table(const std::vector<PresetRow>& rows);
std::string preset_json(const std::string& kind, const std::vector<PresetRow>& rows);

}  // namespace ddpsim
