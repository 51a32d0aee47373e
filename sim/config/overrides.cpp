#include "sim/config/overrides.hpp"

#include <algorithm>

#include <fmt/core.h>

namespace ddpsim::config {
namespace {

constexpr std::string_view kSweepPrefix = "sweep.";

Value empty_map(const SourceSpan& place) {
  Value map;
  map.kind = Value::Kind::map;
  map.span = place;
  return map;
}

void put(Value& map, std::string_view key, Value value, const SourceSpan& place) {
  if (Entry* entry = map.find(key))
    entry->value = std::move(value);
  else
    map.entries.push_back({std::string(key), place, std::move(value)});
}

void remove_axis(Value& root, std::string_view path) {
  if (Entry* sweep = root.find("sweep"))
    std::erase_if(sweep->value.entries, [&](const Entry& axis) {
      return axis.key == path || (axis.key.starts_with(path) && axis.key[path.size()] == '.');
    });
}

}  // namespace

const Value* find_at(const Value& root, std::string_view path) {
  const Value* value = &root;
  while (value) {
    auto dot = path.find('.');
    const auto* entry = value->kind == Value::Kind::map ? value->find(path.substr(0, dot)) : nullptr;
    value = entry ? &entry->value : nullptr;
    if (dot == std::string_view::npos) break;
    path.remove_prefix(dot + 1);
  }
  return value;
}

void set_at(Value& root, std::string_view path, Value value, const SourceSpan& place) {
  Value* map = &root;
  for (auto dot = path.find('.'); dot != std::string_view::npos; dot = path.find('.')) {
    auto key = path.substr(0, dot);
    if (!map->find(key)) put(*map, key, empty_map(place), place);
    map = &map->find(key)->value;
    if (map->kind != Value::Kind::map)
      throw InputError(
          place,
          fmt::format("'{}' is {}, so it has no key '{}'", key, kind_name(map->kind), path.substr(dot + 1)),
          "check the key path");
    path.remove_prefix(dot + 1);
  }
  put(*map, path, std::move(value), place);
}

void apply_override(Value& root, const std::string& assignment, const std::string& option) {
  SourceSpan whole{make_source(option, assignment, true), 1, 1,
                   static_cast<int>(std::max<std::size_t>(1, assignment.size()))};
  auto equals = assignment.find('=');
  if (equals == std::string::npos)
    throw InputError(whole, fmt::format("'{}' has no '='", assignment), "write --set key.path=value");
  auto path = assignment.substr(0, equals);
  auto key_span = whole.part(0, static_cast<int>(std::max<std::size_t>(1, equals)));
  if (path.empty() || path.front() == '.' || path.back() == '.' || path.find("..") != std::string::npos)
    throw InputError(key_span, fmt::format("'{}' is not a key path", path), "write --set key.path=value");
  auto text = assignment.substr(equals + 1);
  if (text.empty())
    throw InputError(key_span, fmt::format("no value for '{}'", path), "write --set key.path=value");
  auto value =
      parse_yaml_value({text, whole.part(static_cast<int>(equals) + 1, static_cast<int>(text.size()))});
  if (path.starts_with(kSweepPrefix)) {  // axis names contain dots themselves
    if (!root.find("sweep")) put(root, "sweep", empty_map(key_span), key_span);
    put(root.find("sweep")->value, std::string_view(path).substr(kSweepPrefix.size()), std::move(value),
        key_span);
    return;
  }
  remove_axis(root, path);
  set_at(root, path, std::move(value), key_span);
}

}  // namespace ddpsim::config
