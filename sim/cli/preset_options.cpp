#include "sim/cli/preset_options.hpp"

#include <algorithm>

#include "sim/job/rows/table.hpp"

namespace ddpsim::cli {

std::function<std::vector<std::string>()> names_of(PresetKind kind) {
  return [kind] { return preset_names(kind); };
}

std::vector<std::string> names_of_any_kind() {
  std::vector<std::string> all;
  for (auto kind : preset_kinds())
    for (auto& name : preset_names(kind)) all.push_back(std::move(name));
  std::sort(all.begin(), all.end());
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

std::vector<std::string> names_of_kinds() {
  std::vector<std::string> kinds;
  for (auto kind : preset_kinds()) kinds.push_back(folder_of(kind));
  return kinds;
}

std::vector<std::string> names_of_keys() {
  auto keys = key_paths();
  for (auto& key : keys) key += '=';
  return keys;
}

}  // namespace ddpsim::cli
