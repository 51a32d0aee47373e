#include "sim/report/key_help.hpp"

#include <algorithm>
#include <optional>
#include <vector>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ddpsim {
namespace {

using keys::Row;
using keys::Section;
using keys::Shape;
using Kind = Shape::Kind;

constexpr double kLarge = 1e9;  // a limit from here on is no news

std::string range_of(const Shape& shape) {
  if (!shape.least) return "";
  if (shape.most.value_or(kLarge) >= kLarge) return fmt::format(", {} or more", *shape.least);
  return fmt::format(" from {} to {}", *shape.least, *shape.most);
}

std::string words_of(const keys::Codec& codec);

std::string words_of(const Shape& shape) {
  switch (shape.kind) {
    case Kind::boolean:
      return "true or false";
    case Kind::integer:
      return "a whole number" + range_of(shape);
    case Kind::number:
      return "a number" + range_of(shape);
    case Kind::quantity:
      return fmt::format("like {}", shape.example);
    case Kind::count:
      return fmt::format("a count, like {}, 300B or 1.5e13", shape.example);
    case Kind::version:
      return fmt::format("a release, like {}", shape.example);
    case Kind::text:
      return "a text: a name or a path";
    case Kind::word:
      return fmt::format("{}", fmt::join(shape.words, ", "));
    case Kind::section: {
      std::vector<std::string_view> names;
      for (const auto& row : shape.section->rows) names.push_back(row.name);
      return fmt::format("a map of {}", fmt::join(names, ", "));
    }
    case Kind::list:
      return "a list, each " + words_of(*shape.item);
    case Kind::any_map:
      return "a map";
  }
  return "";
}

std::string words_of(const keys::Codec& codec) {
  std::vector<std::string> all;
  for (const auto& shape : codec.shapes()) all.push_back(words_of(shape));
  return fmt::format("{}", fmt::join(all, "; or "));
}

std::string default_of(const Section& section, const Row& row) {
  if (!row.usual.empty()) return std::string(row.usual);
  if (row.is_required) return "none: it is required";
  auto fresh = section.fresh();
  auto value = row.codec->write(row.member(fresh.get()));
  if (!value || value->kind == config::Value::Kind::map) return "none";
  return config::text_of(*value);
}

std::string help_of(const std::string& path, const Section& section, const Row& row) {
  std::string text = fmt::format("{}: {}\n", path, row.doc);
  auto fact = [&text](const char* name, const std::string& what) {
    if (!what.empty()) text += fmt::format("  {:<13} {}\n", name, what);
  };
  fact("value", words_of(*row.codec));
  fact("default", default_of(section, row));
  fact("also called", fmt::format("{}", fmt::join(row.other_names, ", ")));
  fact("in DeepSpeed", std::string(row.deepspeed));
  fact("counts", row.when ? fmt::format("with {}", row.when->words) : "");
  fact("worth trying", fmt::format("{}", fmt::join(row.tries, ", ")));
  if (path.find('[') == std::string::npos)
    fact("typed", fmt::format("--set '{0}=VALUE'; swept: --set 'sweep.{0}=[VALUE, VALUE]'", path));
  return text;
}

}  // namespace

std::string key_help(const Section& table, const std::string& path) {
  std::vector<const Section*> sections{&table};  // any of which may have the next key
  std::string text;
  for (std::size_t begin = 0; begin <= path.size();) {
    auto end = std::min(path.find('.', begin), path.size());
    auto name = path.substr(begin, end - begin);
    std::vector<const Section*> below;
    text.clear();
    for (const auto* section : sections) {
      const auto* row = section->find(name);
      if (!row) continue;
      if (text.empty()) text = help_of(path, *section, *row);
      for (const auto& shape : row->codec->shapes())
        if (shape.kind == Kind::section) below.push_back(shape.section);
    }
    sections = std::move(below);
    begin = end + 1;
  }
  for (const auto* section : text.empty() ? std::vector<const Section*>() : sections)
    for (const auto& row : section->rows) text += fmt::format("  .{:<20} {}\n", row.name, row.doc);
  return text;
}

}  // namespace ddpsim
