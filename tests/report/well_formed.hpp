#pragma once
#include <string>
#include <vector>

namespace ddpsim::test {

// Tags open and close in order: enough to see that nothing was cut off or left unescaped.
inline bool is_well_formed(const std::string& xml) {
  std::vector<std::string> open;
  std::size_t at = 0;
  while ((at = xml.find('<', at)) != std::string::npos) {
    auto end = xml.find('>', at);
    if (end == std::string::npos) return false;
    auto tag = xml.substr(at + 1, end - at - 1);
    at = end + 1;
    if (tag.starts_with("?") || tag.starts_with("!") || tag.ends_with("/")) continue;
    auto name = tag.substr(tag.starts_with("/") ? 1 : 0);
    name = name.substr(0, name.find_first_of(" \t\n"));
    if (!tag.starts_with("/")) {
      open.push_back(name);
      continue;
    }
    if (open.empty() || open.back() != name) return false;
    open.pop_back();
  }
  return open.empty() && xml.find("<svg") != std::string::npos;
}

}  // namespace ddpsim::test
