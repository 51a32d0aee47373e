// The JSON schema has the rows of the table that it is made from, each with its words, range and section.
#include "sim/report/scenario_schema.hpp"

#include <regex>
#include <set>

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include "sim/job/rows/table.hpp"

namespace ddpsim {
namespace {

using nlohmann::json;
using Names = std::set<std::string>;

Names names_of(const json& list) {
  return list.is_null() ? Names() : list.get<Names>();
}

void expect_value(const json& schema, const std::vector<keys::Shape>& shapes);
void expect_default(const json& value, const config::Value& usual);

void expect_section(const json& schema, const keys::Section& section) {
  EXPECT_EQ(schema.at("additionalProperties"), false);
  Names keys, required, given;
  for (std::size_t i = 0; i < section.rows.size(); ++i) {
    const auto& row = section.rows[i];
    const auto& usual = section.usual[i];
    SCOPED_TRACE(row.name);
    keys.emplace(row.name);
    if (row.is_required && row.usual.empty()) required.emplace(row.name);
    const auto& of_key = schema.at("properties").at(std::string(row.name));
    EXPECT_TRUE(of_key.at("description").get<std::string>().starts_with(row.doc));
    expect_value(of_key, row.codec->shapes());
    bool is_constant = usual && usual->kind != config::Value::Kind::map && row.usual.empty();
    ASSERT_EQ(of_key.contains("default"), is_constant && !row.is_required);
    if (of_key.contains("default")) expect_default(of_key["default"], *usual);
  }
  for (const auto& [key, of_key] : schema.at("properties").items())
    if (key != "sweep") given.insert(key);
  EXPECT_EQ(given, keys);
  EXPECT_EQ(names_of(schema.value("required", json())), required);
}

// Of a value as JSON or YAML 1.1 has it, which reads 5e8 as text and a release as a number.
json type_of(const keys::Shape& shape) {
  using Kind = keys::Shape::Kind;
  switch (shape.kind) {
    case Kind::boolean:
      return "boolean";
    case Kind::integer:
      return "integer";
    case Kind::number:
      return {"number", "string"};
    case Kind::count:
    case Kind::version:
      return {"string", "number"};
    case Kind::quantity:
    case Kind::text:
      return "string";
    case Kind::section:
    case Kind::any_map:
      return "object";
    case Kind::list:
      return "array";
    case Kind::word:  // which its words are
      break;
  }
  return {};
}

void expect_value(const json& schema, const std::vector<keys::Shape>& shapes) {
  auto all = schema.contains("anyOf") ? schema["anyOf"] : json::array({schema});
  ASSERT_EQ(all.size(), shapes.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto& shape = shapes[i];
    EXPECT_EQ(all[i].value("type", json()), type_of(shape));
    if (shape.section) expect_section(all[i], *shape.section);
    if (shape.item) expect_value(all[i].at("items"), shape.item->shapes());
    bool has_least = shape.least && (!shape.item || *shape.least > 0);
    EXPECT_EQ(all[i].value(shape.item ? "minItems" : "minimum", json()),
              has_least ? json(*shape.least) : json());
    EXPECT_EQ(all[i].value("maximum", json()), shape.most && !shape.item ? json(*shape.most) : json());
    if (!shape.pattern.empty()) {
      EXPECT_EQ(all[i].at("pattern"), shape.pattern);
      std::regex pattern{std::string(shape.pattern)};
      EXPECT_TRUE(std::regex_match(std::string(shape.example), pattern));
      for (const char* wrong : {"", "zzzz", "{}", "-"})
        EXPECT_FALSE(std::regex_match(wrong, pattern)) << wrong;
    }
    Names words;
    for (const auto& word : all[i].value("enum", json::array()))
      if (word.is_string()) words.insert(word);
    EXPECT_EQ(words, Names(shape.words.begin(), shape.words.end()));
  }
}

// As its text is read: "25MiB" is none of JSON's.
void expect_default(const json& value, const config::Value& usual) {
  auto text = usual.kind == config::Value::Kind::sequence ? "[]" : usual.scalar;
  EXPECT_EQ(value.is_string() ? value.get<std::string>() : value.dump(), text) << value;
}

TEST(ScenarioSchema, HasTheRowsOfTheTable) {
  auto schema = json::parse(scenario_schema(job_table()));
  expect_section(schema, job_table());
  // An axis for each key outside lists, but those of validation.
  std::size_t axes = 0;
  keys::each_row(job_table(), [&](const std::string& path, const keys::Row&) {
    axes += !path.starts_with("validation") && path.find('[') == std::string::npos;
  });
  EXPECT_EQ(schema["properties"]["sweep"]["properties"].size(), axes);
}

}  // namespace
}  // namespace ddpsim
