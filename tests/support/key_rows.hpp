#pragma once
// Holds every row of a table of keys to its shapes: what a value cannot be is refused where it stands, what
// it can be is read, and the default that is given is the default.
#include <cmath>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sim/keys/types.hpp"

#include "tests/config/text.hpp"

namespace ddpsim::testing {

struct KeyTable {
  const keys::Section* section = nullptr;
  // Of a whole text: what was read, written again.
  std::function<std::string(const config::Value&)> read = {};
  // What a section needs besides its required keys, by its path ("cluster.overrides[]"): key and value.
  std::map<std::string, std::vector<std::pair<std::string, std::string>>> needs = {};
  std::map<std::string, std::string> but = {};    // of a row: a value of its kind that it refuses
  std::map<std::string, std::string> pairs = {};  // lists of two: the other one
  std::vector<std::string> silent = {};           // rows whose default is refused where it has no meaning
};
// Of a section that is read by itself.
inline KeyTable table_of(const keys::Section& section) {
  return {&section, [&section](const config::Value& root) {
            auto read = section.fresh();
            keys::Places places;
            places.put("", {root.span, root.span});
            keys::read_section(section, root, read.get(), {places});
            return config::to_flow_text(keys::write_all(section, read.get()));
          }};
}

class KeyRows {
 public:
  explicit KeyRows(KeyTable table) : table_(std::move(table)) {
    section(*table_.section, "", {"", ""}, true);
  }

  int rows = 0, refused = 0, accepted = 0, defaults = 0;
  // A line a row: "node.gpus: integer 1 to 128, required".
  std::string lines;

 private:
  using Kind = keys::Shape::Kind;
  using Shapes = std::vector<keys::Shape>;
  struct Around {
    std::string before, after;
    [[nodiscard]] std::string text(const std::string& value) const { return before + value + after; }
    [[nodiscard]] Around in(const std::string& opened, const std::string& closed) const {
      return {before + opened, closed + after};
    }
  };
  struct Wrong {
    std::string text;
    std::size_t offset = 0;  // of what is wrong of it
  };

  // That a text is refused at a place in it, with what the message must hold.
  void refuse(const Around& around, const Wrong& value, const std::vector<std::string>& held = {}) {
    ++refused;
    auto at = around.before.size() + value.offset;
    auto line = 1 + std::count(around.before.begin(), around.before.end(), '\n');
    auto column = at - (around.before.rfind('\n') + 1) + 1;
    auto text = around.text(value.text);
    SCOPED_TRACE(text);
    auto message = input_error([&] { table_.read(parse(text)); });
    EXPECT_THAT(message, ::testing::StartsWith(fmt::format("a.yaml:{}:{}: error: ", line, column)));
    EXPECT_THAT(message, ::testing::HasSubstr("\nhint: "));
    for (const auto& part : held) EXPECT_THAT(message, ::testing::HasSubstr(part));
  }

  // A row alone, without the rules between keys: what was read, written again.
  static std::string read_row(const keys::Section& section, const keys::Row& row, const std::string& text) {
    auto to = section.fresh();
    keys::Places places;
    auto map = parse("{value: " + text + "}");
    row.codec->read(map.entries.front().value, row.member(to.get()), {places, "value"});
    auto written = row.codec->write(row.member(to.get()));
    return written ? config::to_flow_text(*written) : "";
  }
  void accept(const keys::Section& section, const keys::Row& row, const std::string& value) {
    ++accepted;
    SCOPED_TRACE(value);
    try {
      auto written = read_row(section, row, value);
      EXPECT_EQ(written.empty() ? written : read_row(section, row, written), written);
    } catch (const InputError& error) {
      ADD_FAILURE() << error.what();
    }
  }

  [[nodiscard]] std::string example(const keys::Codec& codec, const std::string& path) const {
    const auto shape = codec.shapes().front();
    switch (shape.kind) {
      case Kind::boolean:
        return "true";
      case Kind::integer:
      case Kind::number:
        return fmt::format("{}", *shape.least > 0 ? *shape.least : 1);
      case Kind::quantity:
      case Kind::count:
      case Kind::version:
        return std::string(shape.example);
      case Kind::text:
        return "t";
      case Kind::word:
        return shape.words.front();
      case Kind::section:
        return "{" + others(*shape.section, path, "") + "}";
      case Kind::list:
        return "[" + example(*shape.item, path + "[]") + "]";
      case Kind::any_map:
        return "{}";
    }
    return {};
  }

  // What a section needs, but for one key: "kind: ring, gpus: 1, ".
  [[nodiscard]] std::string others(const keys::Section& section, const std::string& path,
                                   std::string_view but) const {
    std::string text;
    auto more = table_.needs.find(path);
    for (const auto& row : section.rows) {
      std::string value;
      if (row.is_required) value = example(*row.codec, joined(path, row.name));
      if (more != table_.needs.end())
        for (const auto& [key, needed] : more->second)
          if (key == row.name) value = needed;
      if (!value.empty() && row.name != but) text += fmt::format("{}: {}, ", row.name, value);
    }
    return text;
  }

  static std::string joined(const std::string& path, std::string_view name) {
    return path.empty() ? std::string(name) : fmt::format("{}.{}", path, name);
  }
  static bool is_in(const std::vector<std::string>& paths, const std::string& path) {
    return std::find(paths.begin(), paths.end(), path) != paths.end();
  }

  // `is_alone`: no other section may stand there.
  void section(const keys::Section& section, const std::string& path, const Around& around, bool is_alone) {
    std::vector<std::string_view> names;
    for (const auto& row : section.rows) names.push_back(row.name);
    for (std::size_t i = 0; i < section.rows.size(); ++i) {
      const auto& row = section.rows[i];
      const auto of_row = joined(path, row.name);
      ++rows;
      lines += of_row + ": " + words(row.codec->shapes()) + said(section, i) + "\n";
      SCOPED_TRACE(of_row);
      auto map = around.in("{\n" + others(section, path, row.name), "}");
      auto misspelt = std::string(row.name) + row.name.back();
      refuse(map, {misspelt + ": 1"},
             {fmt::format("unknown key '{}'", misspelt),
              !is_alone         ? ""
              : row.is_required ? fmt::format("needs the key '{}'", row.name)
                                : fmt::format("' knows {}", fmt::join(names, ", "))});
      if (row.is_required)
        refuse(around, {"{\n" + others(section, path, row.name) + "}"},
               {is_alone ? fmt::format("lacks the key '{}'", row.name) : "lacks the key"});
      if (row.codec->shapes().front().kind != Kind::any_map) refuse(map, {std::string(row.name) + ": ~"});
      auto value = map.in(std::string(row.name) + ": ", "");
      values(section, row, of_row, row.codec->shapes(), value, {"", ""});
      if (const auto& usual = section.usual[i]; usual && !row.is_required && row.usual.empty())
        default_is_default(section, map, row, of_row, *usual);
    }
  }

  static std::string said(const keys::Section& section, std::size_t row) {
    if (section.rows[row].is_required) return ", required";
    const auto& usual = section.usual[row];
    return usual ? ", " + config::to_flow_text(*usual) : "";
  }
  static std::string words(const Shapes& shapes) {
    std::string text;
    for (const auto& shape : shapes) text += (text.empty() ? "" : " | ") + words(shape);
    return text;
  }
  static std::string words(const keys::Shape& shape) {
    switch (shape.kind) {
      case Kind::boolean:
        return "bool";
      case Kind::integer:
        return fmt::format("integer {:.0f} to {:.0f}", *shape.least, *shape.most);
      case Kind::number:
        return fmt::format("number {} to {}", *shape.least, *shape.most);
      case Kind::quantity:
      case Kind::count:
      case Kind::version:
        return std::string(shape.example);
      case Kind::text:
        return "text";
      case Kind::word:
        return fmt::format("{}", fmt::join(shape.words, " "));
      case Kind::section:
        return "map";
      case Kind::list:
        return (*shape.least > 0 ? "some [" : "[") + words(shape.item->shapes()) + "]";
      case Kind::any_map:
        return "any map";
    }
    return {};
  }

  void default_is_default(const keys::Section& section, const Around& map, const keys::Row& row,
                          const std::string& path, const config::Value& usual) {
    if (is_in(table_.silent, path) || !can_be_said(section, row, usual)) return;
    ++defaults;
    auto with = map.text(fmt::format("{}: {}", row.name, config::to_flow_text(usual)));
    SCOPED_TRACE(with);
    try {
      EXPECT_EQ(table_.read(parse(with)), table_.read(parse(map.text(""))));
    } catch (const InputError& error) {
      ADD_FAILURE() << error.what();
    }
  }
  // Some defaults are no value of their row: no name, no rings.
  static bool can_be_said(const keys::Section& section, const keys::Row& row, const config::Value& usual) {
    try {
      read_row(section, row, config::to_flow_text(usual));
    } catch (const InputError&) {
      return false;
    }
    return true;
  }

  // `in_row`: what is around the value within its row.
  void values(const keys::Section& section, const keys::Row& row, const std::string& path,
              const Shapes& shapes, const Around& around, const Around& in_row) {
    for (const auto& wrong : wrong_values(shapes))
      refuse(around, wrong,
             std::isalpha(wrong.text.front()) != 0 ? held(shapes) : std::vector<std::string>());
    for (const auto& shape : shapes) {
      for (const auto& good : right_values(shape)) {
        auto but = table_.but.find(path);
        if (but != table_.but.end() && but->second == good)
          refuse(around, {good});
        else
          accept(section, row,
                 in_row.text(table_.pairs.contains(path) ? good + ", " + table_.pairs.at(path) : good));
      }
      if (shape.section)
        this->section(*shape.section, path, around,
                      std::count_if(shapes.begin(), shapes.end(),
                                    [](const auto& one) { return one.section != nullptr; }) == 1);
      if (shape.item)
        values(section, row, path + "[]", shape.item->shapes(), around.in("[", "]"), in_row.in("[", "]"));
    }
  }

  static std::vector<std::string> right_values(const keys::Shape& shape) {
    switch (shape.kind) {
      case Kind::boolean:
        return {"true", "false"};
      case Kind::integer:
      case Kind::number:
        return {number(shape, *shape.least), number(shape, *shape.most)};
      case Kind::quantity:
      case Kind::count:
      case Kind::version:
        return {std::string(shape.example)};
      case Kind::text:
        return {"name"};
      case Kind::word:
        return shape.words;
      default:
        return {};
    }
  }

  static std::string number(const keys::Shape& shape, double value) {
    return shape.kind == Kind::integer ? fmt::format("{:.0f}", value) : fmt::format("{}", value);
  }

  // Of a value that is one thing only: the words that the message says.
  static std::vector<std::string> held(const Shapes& shapes) {
    if (shapes.size() != 1 || shapes.front().kind != Kind::word) return {};
    return shapes.front().words;
  }

  static std::vector<Wrong> wrong_values(const Shapes& shapes) {
    auto find = [&](Kind kind) -> const keys::Shape* {
      for (const auto& shape : shapes)
        if (shape.kind == kind) return &shape;
      return nullptr;
    };
    if (find(Kind::any_map)) return {};
    std::vector<Wrong> all{{"\"\""}};
    if (!find(Kind::section)) all.push_back({"{unheard: 1}"});
    if (const auto* list = find(Kind::list); !list)
      all.insert(all.end(), {{"[]"}, {"[1, 2]"}});
    else if (*list->least > 0)
      all.push_back({"[]"});
    if (find(Kind::text)) return all;
    all.push_back({"unheard"});
    const auto* integer = find(Kind::integer);
    const auto* number = find(Kind::number);
    const auto* quantity = find(Kind::quantity);
    if (integer || number) {
      all.insert(all.end(), {{".nan"}, {"nan"}, {"inf"}, {"1e999"}, {"5us", number ? 1U : 0U}});
      if (number)
        for (double beyond :
             {std::nextafter(*number->least, -INFINITY), std::nextafter(*number->most, INFINITY)})
          all.push_back({fmt::format("{}", beyond)});
      else
        all.insert(all.end(), {{fmt::format("{}", static_cast<std::int64_t>(*integer->least) - 1)},
                               {fmt::format("{}", static_cast<std::int64_t>(*integer->most) + 1)},
                               {"1.5"}});
    } else if (quantity) {
      add_wrong_quantities(*quantity, all);
    } else if (find(Kind::count)) {
      all.insert(all.end(), {{"0"}, {"-5T"}, {"nan"}, {"infT"}, {"1e300"}, {"5parsec"}, {"25MiB"}, {"T"}});
    } else if (find(Kind::version)) {
      all.insert(all.end(), {{"2"}, {"-2.6"}, {"2.x"}});
    } else {
      all.insert(all.end(), {{"7"}, {"-1"}});
    }
    if (find(Kind::boolean)) all.insert(all.end(), {{"yes"}, {"True"}});
    for (const auto& shape : shapes)
      for (const auto& word : shape.words) all.push_back({word + word.back()});
    return all;
  }

  static void add_wrong_quantities(const keys::Shape& quantity, std::vector<Wrong>& all) {
    using keys::Dimension;
    auto digits = [](std::string_view text) { return text.find_first_not_of("0123456789."); };
    auto unit = std::string(quantity.example.substr(digits(quantity.example)));
    bool is_share = unit == "%";
    all.insert(all.end(), {{"5"}, {"-5" + unit}, {"nan" + unit}, {"inf" + unit}, {"1e300" + unit}});
    all.push_back({"5parsec", is_share ? 0U : 1U});
    for (auto other : {Dimension::size, Dimension::bandwidth, Dimension::flops_rate, Dimension::time}) {
      auto of = keys::shape_of(other);
      if (of.pattern != quantity.pattern)
        all.push_back({std::string(of.example), is_share ? 0U : digits(of.example)});
    }
  }

  KeyTable table_;
};

}  // namespace ddpsim::testing
