#include "sim/report/scenario_schema.hpp"

#include <algorithm>
#include <utility>
#include <vector>

#include <nlohmann/json.hpp>

#include "sim/base/check.hpp"
#include "sim/report/json_parts.hpp"

namespace ddpsim {
namespace {

using json::Json;
using Kind = ScenarioKey::Kind;

Json alternative(const ScenarioKey& key, Kind kind) {
  switch (kind) {
    case Kind::boolean:
      return {{"type", "boolean"}};
    case Kind::integer:
      return {{"type", "integer"}};
    case Kind::number:
      return {{"type", {"number", "string"}}, {"pattern", "^[-+0-9.eE]+$"}};  // YAML 1.1 reads 5e8 as text
    case Kind::quantity:
      return {{"type", {"string", "integer"}}, {"pattern", "^[0-9]"}};
    case Kind::text:
      return {{"type", "string"}};
    case Kind::version:
      return {{"type", {"string", "number"}}, {"pattern", "^[0-9]"}};
    case Kind::word: {
      auto words = Json::array();
      for (const auto& word : key.words) {
        words.push_back(word);
        if (word == "true" || word == "false") words.push_back(word == "true");
      }
      return {{"enum", words}};
    }
    case Kind::section:
      return {{"type", "object"}, {"properties", Json::object()}, {"additionalProperties", false}};
    case Kind::list:
      return {{"type", "array"}};
    case Kind::any_map:
      return {{"type", "object"}};
    case Kind::axes:
      return {{"type", {"object", "null"}},
              {"properties", Json::object()},
              {"additionalProperties", {{"type", {"array", "object"}}}}};
  }
  return {};
}

Json schema_of(const ScenarioKey& key) {
  Json schema{{"description", key.description}};
  if (key.kinds.size() == 1) {
    schema.update(alternative(key, key.kinds.front()));
  } else {
    for (auto kind : key.kinds) schema["anyOf"].push_back(alternative(key, kind));
  }
  return schema;
}

// The alternative of `schema` that is a map with keys, or a list.
Json& container(Json& schema, const char* type) {
  if (!schema.contains("anyOf")) return schema;
  for (auto& one : schema["anyOf"])
    if (one.value("type", Json()) == type && (one.contains("properties") || one["type"] == "array"))
      return one;
  DDPSIM_CHECK(false, "a key is in a section");
  return schema;
}

// A path's steps: "groups[].ranks" as "groups", "[]", "ranks".
std::vector<std::string> steps_of(const std::string& path) {
  std::vector<std::string> steps;
  std::string step;
  auto end = [&] {
    if (!step.empty()) steps.push_back(std::exchange(step, {}));
  };
  for (std::size_t i = 0; i < path.size(); ++i) {
    if (path[i] == '.' || path[i] == '[') end();
    if (path[i] == '[')
      steps.emplace_back("[]"), ++i;
    else if (path[i] != '.')
      step += path[i];
  }
  end();
  return steps;
}

void add(Json& root, const ScenarioKey& key) {
  auto steps = steps_of(key.path);
  Json* at = &root;
  for (std::size_t i = 0; i + 1 < steps.size(); ++i)
    at = steps[i] == "[]" ? &container(*at, "array")["items"]
                          : &container(*at, "object")["properties"][steps[i]];
  if (steps.back() == "[]") {
    container(*at, "array")["items"] = schema_of(key);
    return;
  }
  auto& section = container(*at, "object");
  section["properties"][steps.back()] = schema_of(key);
  if (key.is_required) section["required"].push_back(steps.back());
}

// What an axis of a sweep may be.
Json axis_of(const ScenarioKey& key) {
  return {{"description", key.description},
          {"anyOf",
           {{{"type", "array"}},
            {{"type", "object"},
             {"properties",
              {{"from", Json::object()},
               {"to", Json::object()},
               {"points", {{"type", "integer"}}},
               {"spacing", {{"enum", {"log", "linear"}}}}}},
             {"required", {"from", "to", "points"}},
             {"additionalProperties", false}}}}};
}

}  // namespace

std::string scenario_schema(std::span<const ScenarioKey> keys) {
  Json root{{"$schema", "http://json-schema.org/draft-07/schema#"},
            {"title", "ddpsim scenario"},
            {"type", "object"},
            {"properties", Json::object()},
            {"additionalProperties", false}};
  for (const auto& key : keys) add(root, key);
  auto& axes = root["properties"]["sweep"];
  for (const auto& key : keys) {
    bool is_axis =
        key.path != "sweep" && !key.path.starts_with("validation") && key.path.find('[') == std::string::npos;
    if (is_axis) axes["properties"][key.path] = axis_of(key);
  }
  return json::text_of(root);
}

}  // namespace ddpsim
