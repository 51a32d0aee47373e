#include "sim/keys/table.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/suggest.hpp"
#include "sim/config/reader.hpp"

namespace ddpsim::keys {
namespace {

void check_known(const Section& section, const Value& map) {
  auto is_known = [&](const config::Entry& entry) { return section.find(entry.key) != nullptr; };
  if (std::ranges::all_of(map.entries, is_known)) return;
  std::vector<std::string> names, missing;
  for (const auto& row : section.rows) {
    names.emplace_back(row.name);
    if (row.is_required && !map.find(row.name)) missing.emplace_back(row.name);
  }
  for (const auto& entry : map.entries) {
    if (is_known(entry)) continue;
    if (auto meant = did_you_mean(entry.key, missing); !meant.empty())
      throw InputError(entry.key_span, fmt::format("unknown key '{}'{}", entry.key, meant),
                       fmt::format("'{}' needs the key '{}'", section.name, *closest(entry.key, missing)));
    throw InputError(entry.key_span,
                     fmt::format("unknown key '{}'{}", entry.key, did_you_mean(entry.key, names)),
                     fmt::format("'{}' knows {}", section.name, fmt::join(names, ", ")));
  }
}

std::optional<Value> written(const Row& row, const void* from) {
  return row.codec->write(row.member(const_cast<void*>(from)));  // NOLINT: members are only read
}

class Only final : public Codec {
 public:
  explicit Only(std::string_view word) : words_{std::string(word)} {}
  void read(const Value& from, void*, const Cursor&) const override { config::word_index(from, words_); }
  [[nodiscard]] std::optional<Value> write(const void*) const override {
    return config::scalar_value(words_.front());
  }
  void assign(const void*, void*) const override {}
  [[nodiscard]] std::vector<Shape> shapes() const override {
    return {{.kind = Shape::Kind::word, .words = words_}};
  }

 private:
  std::vector<std::string> words_;
};

}  // namespace

std::shared_ptr<const Codec> only(std::string_view word) {
  return std::make_shared<Only>(word);
}

void Places::forget(std::string_view path) {
  auto is_within = [&](std::string_view one) {
    return one.starts_with(path) &&
           (one.size() == path.size() || one[path.size()] == '.' || one[path.size()] == '[');
  };
  auto it = places_.lower_bound(path);
  while (it != places_.end() && it->first.starts_with(path))
    it = is_within(it->first) ? places_.erase(it) : std::next(it);
}

const Places::Place& Places::nearest(std::string_view path) const {
  for (;;) {
    if (auto found = places_.find(path); found != places_.end()) return found->second;
    if (path.empty()) break;
    auto end = path.find_last_of(".[");
    path = path.substr(0, end == std::string_view::npos ? 0 : end);
  }
  static const Place nowhere;
  return nowhere;
}

Cursor Cursor::in(std::string_view key) const {
  return {places, path.empty() ? std::string(key) : fmt::format("{}.{}", path, key),
          is_partial && path.empty()};
}
Cursor Cursor::item(std::size_t index) const {
  return {places, fmt::format("{}[{}]", path, index)};
}
const SourceSpan& Cursor::place(std::string_view key) const {
  return places.at(key.empty() ? path : in(key).path);
}

const Row* Section::find(std::string_view key) const {
  auto row = std::ranges::find(rows, key, &Row::name);
  return row == rows.end() ? nullptr : &*row;
}

void read_section(const Section& section, const Value& value, void* to, const Cursor& at) {
  config::check_map(value, section.name);
  // What is of another kind has other keys.
  if (const auto* kind = section.says_kind ? value.find("kind") : nullptr)
    section.rows.front().codec->read(kind->value, to, at);
  check_known(section, value);
  for (const auto& row : section.rows) {
    const auto* entry = value.find(row.name);
    if (!entry && row.is_required && !at.is_partial)
      throw config::lacks_key(value.span, section.name, row.name);
    if (!entry) continue;
    auto below = at.in(row.name);
    below.places.put(below.path, {entry->key_span, entry->value.span});
    row.codec->read(entry->value, row.member(to), below);
  }
  if (section.check) section.check(to, at);
}

Value write_section(const Section& section, const void* from) {
  Value map;
  map.kind = Value::Kind::map;
  for (std::size_t i = 0; i < section.rows.size(); ++i) {
    const auto& row = section.rows[i];
    auto value = written(row, from);
    bool is_usual = !row.is_required && value == section.usual[i];
    if (value && !is_usual) map.entries.push_back({std::string(row.name), {}, *std::move(value)});
  }
  return map;
}

Value write_all(const Section& section, const void* from) {
  Value map;
  map.kind = Value::Kind::map;
  for (const auto& row : section.rows)
    if (auto value =
            row.codec->write_all(row.member(const_cast<void*>(from))))  // NOLINT: members are only read
      map.entries.push_back({std::string(row.name), {}, *std::move(value)});
  return map;
}

std::string lines_of(const Section& section, const void* from, std::string_view indent) {
  std::string lines;
  for (const auto& row : section.rows)
    if (auto value =
            row.codec->write_all(row.member(const_cast<void*>(from))))  // NOLINT: members are only read
      lines += fmt::format("{}{}: {}\n", indent, row.name, config::to_flow_text(*value));
  return lines;
}

void each_row(const Section& root, const std::function<void(const std::string&, const Row&)>& see) {
  std::function<void(const Codec&, const std::string&)> below;
  auto walk = [&](const Section& section, const std::string& above) {
    for (const auto& row : section.rows) {
      auto path = above + std::string(row.name);
      see(path, row);
      below(*row.codec, path);
    }
  };
  below = [&](const Codec& codec, const std::string& path) {
    for (const auto& shape : codec.shapes()) {
      if (shape.section) walk(*shape.section, path + ".");
      if (shape.item) below(*shape.item, path + "[]");
    }
  };
  walk(root, "");
}

}  // namespace ddpsim::keys
