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

void expect_section(const json& schema, const keys::Section& section) {
  EXPECT_EQ(schema.at("additionalProperties"), false);
  Names keys, required, given;
  for (std::size_t i = 0; i < section.rows.size(); ++i) {
    const auto& row = section.rows[i];
    const auto& usual = section.usual[i];
    SCOPED_TRACE(row.name);
    keys.emplace(row.name);
    if (row.is_required) required.emplace(row.name);
    const auto& of_key = schema.at("properties").at(std::string(row.name));
    EXPECT_TRUE(of_key.at("description").get<std::string>().starts_with(row.doc));
    expect_value(of_key, row.codec->shapes());
    bool is_constant = usual && usual->kind != config::Value::Kind::map && row.usual.empty();
    EXPECT_EQ(of_key.contains("default"), is_constant && !row.is_required);
  }
  for (const auto& [key, of_key] : schema.at("properties").items())
    if (key != "sweep") given.insert(key);
  EXPECT_EQ(given, keys);
  EXPECT_EQ(names_of(schema.value("required", json())), required);
}

void expect_value(const json& schema, const std::vector<keys::Shape>& shapes) {
  auto all = schema.value("anyOf", json::array({schema}));
  ASSERT_EQ(all.size(), shapes.size());
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto& shape = shapes[i];
    if (shape.section) expect_section(all[i], *shape.section);
    if (shape.item) expect_value(all[i].at("items"), shape.item->shapes());
    if (!shape.item) {
      EXPECT_EQ(all[i].value("minimum", json()), shape.least ? json(*shape.least) : json());
      EXPECT_EQ(all[i].value("maximum", json()), shape.most ? json(*shape.most) : json());
    }
    std::regex pattern(all[i].value("pattern", ""));
    EXPECT_TRUE(shape.pattern.empty() || std::regex_match(std::string(shape.example), pattern));
    Names words;
    for (const auto& word : all[i].value("enum", json::array()))
      if (word.is_string()) words.insert(word);
    EXPECT_EQ(words, Names(shape.words.begin(), shape.words.end()));
  }
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
