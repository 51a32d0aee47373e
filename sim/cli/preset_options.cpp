#include "sim/cli/preset_options.hpp"

#include <algorithm>

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

}  // namespace ddpsim::cli
