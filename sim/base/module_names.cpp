#include "sim/base/module_names.hpp"

namespace ddpsim {
namespace {

bool matches_part(std::string_view pattern, std::string_view part) {
  if (pattern.empty()) return part.empty();
  if (pattern.front() != '*')
    return !part.empty() && pattern.front() == part.front() &&
           matches_part(pattern.substr(1), part.substr(1));
  return matches_part(pattern.substr(1), part) || (!part.empty() && matches_part(pattern, part.substr(1)));
}

// From the last part on.
bool matches(std::string_view pattern, std::string_view module) {
  while (true) {
    auto dot = pattern.rfind('.'), end = module.rfind('.');
    auto last = [](std::string_view name, std::size_t at) {
      return at == std::string_view::npos ? name : name.substr(at + 1);
    };
    if (!matches_part(last(pattern, dot), last(module, end))) return false;
    if (dot == std::string_view::npos) return true;
    if (end == std::string_view::npos) return false;
    pattern = pattern.substr(0, dot);
    module = module.substr(0, end);
  }
}

}  // namespace

std::string_view named_module_of(std::string_view tensor, const std::vector<std::string>& names,
                                 std::vector<bool>& is_known) {
  for (auto module = tensor; module.rfind('.') != std::string_view::npos;) {
    module = module.substr(0, module.rfind('.'));
    bool is_named = false;
    for (std::size_t i = 0; i < names.size(); ++i)
      if (matches(names[i], module)) is_named = is_known[i] = true;
    if (is_named) return module;
  }
  return {};
}

}  // namespace ddpsim
