#include "sim/text/unused_axes.hpp"

#include <algorithm>
#include <string>
#include <string_view>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/suggest.hpp"
#include "sim/config/overrides.hpp"
#include "sim/text/misplaced_keys.hpp"
#include "sim/text/scenario_keys.hpp"

namespace ddpsim {
namespace {

// The keys right below a section, or of the scenario itself (an empty one).
std::vector<std::string> keys_of(const std::vector<ScenarioKey>& all, const std::string& section) {
  auto start = section.empty() ? std::string() : section + ".";
  std::vector<std::string> keys;
  for (const auto& key : all) {
    if (!key.path.starts_with(start)) continue;
    auto rest = key.path.substr(start.size());
    if (rest.find_first_of(".[") == std::string::npos && rest != "sweep") keys.push_back(std::move(rest));
  }
  return keys;
}

bool holds_any_key(const std::vector<ScenarioKey>& all, const std::string& path) {
  return std::any_of(all.begin(), all.end(), [&](const ScenarioKey& key) {
    return key.path == path &&
           std::find(key.kinds.begin(), key.kinds.end(), ScenarioKey::Kind::any_map) != key.kinds.end();
  });
}

void check_key(const config::SweepAxis& axis, const std::vector<ScenarioKey>& all) {
  std::string section;
  for (std::size_t begin = 0; begin <= axis.key.size() && !holds_any_key(all, section);) {
    auto end = std::min(axis.key.find('.', begin), axis.key.size());
    auto part = axis.key.substr(begin, end - begin);
    auto known = keys_of(all, section);
    if (known.empty())
      throw InputError(axis.span, fmt::format("'{}' has no key '{}'", section, part), "check the key path");
    if (std::find(known.begin(), known.end(), part) == known.end())
      throw InputError(
          axis.span, fmt::format("unknown key '{}'{}", part, did_you_mean(part, known)),
          fmt::format("'{}' knows {}", section.empty() ? "scenario" : section, fmt::join(known, ", ")));
    section += (section.empty() ? "" : ".") + part;
    begin = end + 1;
  }
}

}  // namespace

std::vector<config::SweepAxis> take_unused_axes(config::Value& root) {
  auto axes = config::take_sweep_axes(root);
  auto all = scenario_keys();
  for (const auto& axis : axes) {
    config::Value alone;
    alone.kind = config::Value::Kind::map;
    config::set_at(alone, axis.key, axis.values.front(), axis.span);
    check_misplaced_keys(alone);
    check_key(axis, all);
  }
  return axes;
}

}  // namespace ddpsim
