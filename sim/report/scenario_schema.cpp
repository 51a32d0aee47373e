#include "sim/report/scenario_schema.hpp"

#include <fmt/format.h>
#include <nlohmann/json.hpp>

namespace ddpsim {
namespace {

using Json = nlohmann::ordered_json;
using keys::Row;
using keys::Section;
using keys::Shape;
using Kind = Shape::Kind;

Json schema_of(const Section& section);
Json schema_of(const keys::Codec& codec);

void add_range(const Shape& shape, Json& schema) {
  if (shape.least) schema["minimum"] = *shape.least;
  if (shape.most) schema["maximum"] = *shape.most;
}

Json alternative(const Shape& shape) {
  switch (shape.kind) {
    case Kind::boolean:
      return {{"type", "boolean"}};
    case Kind::integer: {
      Json schema{{"type", "integer"}};
      add_range(shape, schema);
      return schema;
    }
    case Kind::number: {
      Json schema{{"type", {"number", "string"}},
                  {"pattern", "^[-+0-9.eE]+$"}};  // YAML 1.1 reads 5e8 as text
      add_range(shape, schema);
      return schema;
    }
    case Kind::quantity:
      return {{"type", "string"}, {"pattern", shape.pattern}, {"examples", {shape.example}}};
    case Kind::text:
      return {{"type", "string"}};
    case Kind::count:
    case Kind::version:
      return {{"type", {"string", "number"}}, {"pattern", shape.pattern}, {"examples", {shape.example}}};
    case Kind::word: {
      auto words = Json::array();
      for (const auto& word : shape.words) {
        words.push_back(word);
        if (word == "true" || word == "false") words.push_back(word == "true");
      }
      return {{"enum", words}};
    }
    case Kind::section:
      return schema_of(*shape.section);
    case Kind::list: {
      Json schema{{"type", "array"}, {"items", schema_of(*shape.item)}};
      if (shape.least.value_or(0) > 0) schema["minItems"] = *shape.least;
      return schema;
    }
    case Kind::any_map:
      return {{"type", "object"}};
  }
  return {};
}

Json schema_of(const keys::Codec& codec) {
  auto shapes = codec.shapes();
  if (shapes.size() == 1) return alternative(shapes.front());
  auto any = Json::array();
  for (const auto& shape : shapes) any.push_back(alternative(shape));
  return {{"anyOf", any}};
}

// As JSON where it is one, else its text: false, 4, "25MiB".
Json default_of(const config::Value& value) {
  if (value.kind == config::Value::Kind::sequence && value.items.empty()) return Json::array();
  auto parsed = Json::parse(value.scalar, nullptr, false);
  return parsed.is_boolean() || parsed.is_number() ? parsed : Json(value.scalar);
}

Json schema_of(const Section& section) {
  Json schema{{"type", "object"}, {"properties", Json::object()}, {"additionalProperties", false}};
  auto usual = section.fresh();
  for (const auto& row : section.rows) {
    Json of_key{{"description", row.doc}};
    of_key.update(schema_of(*row.codec));
    auto by_default = row.codec->write(row.member(usual.get()));
    bool is_said = by_default && by_default->kind != config::Value::Kind::map;
    if (row.is_required && row.usual.empty())
      schema["required"].push_back(row.name);
    else if (!row.usual.empty())
      of_key["description"] = fmt::format("{} (default: {})", row.doc, row.usual);
    else if (is_said)
      of_key["default"] = default_of(*by_default);
    schema["properties"][std::string(row.name)] = std::move(of_key);
  }
  return schema;
}

// What an axis of a sweep may be.
Json axis_of(const Row& row) {
  return {{"description", row.doc},
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

std::string scenario_schema(const Section& table) {
  Json root{{"$schema", "http://json-schema.org/draft-07/schema#"}, {"title", "ddpsim scenario"}};
  root.update(schema_of(table));
  Json axes{{"description", "Axes: keys with lists of values, or {from, to, points, spacing}"},
            {"type", {"object", "null"}},
            {"properties", Json::object()},
            {"additionalProperties", {{"type", {"array", "object"}}}}};
  keys::each_row(table, [&](const std::string& path, const Row& row) {
    bool is_axis = !path.starts_with("validation") && path.find('[') == std::string::npos;
    if (is_axis) axes["properties"][path] = axis_of(row);
  });
  root["properties"]["sweep"] = std::move(axes);
  return root.dump(2) + "\n";
}

}  // namespace ddpsim
