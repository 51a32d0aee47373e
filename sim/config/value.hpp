#pragma once
// A parsed configuration text: scalars, sequences and maps, each with its place. The rest of the program sees
// no yaml-cpp.
#include <compare>
#include <string>
#include <string_view>
#include <tuple>
#include <utility>
#include <vector>

#include "sim/base/source.hpp"

namespace ddpsim::config {

struct Entry;

struct Value {
  enum class Kind { null, scalar, sequence, map };
  Kind kind = Kind::null;
  SourceSpan span;
  std::string scalar;          // kind scalar
  std::vector<Value> items;    // kind sequence
  std::vector<Entry> entries;  // kind map, in file order, keys unique
  bool is_quoted = false;      // kind scalar, written in quotes: text, whatever it looks like

  [[nodiscard]] const Entry* find(std::string_view key) const;
  [[nodiscard]] Entry* find(std::string_view key);
  [[nodiscard]] Located located() const { return {scalar, span}; }

  // By what is written, wherever it stands and in whatever layout: equal values mean the same.
  std::strong_ordering operator<=>(const Value& other) const;
  bool operator==(const Value& other) const { return (*this <=> other) == 0; }
};

struct Entry {
  std::string key;
  SourceSpan key_span;
  Value value;

  std::strong_ordering operator<=>(const Entry& other) const {
    return std::tie(key, value) <=> std::tie(other.key, other.value);
  }
  bool operator==(const Entry& other) const { return (*this <=> other) == 0; }
};

inline std::strong_ordering Value::operator<=>(const Value& other) const {
  return std::tie(kind, scalar, items, entries) <=>
         std::tie(other.kind, other.scalar, other.items, other.entries);
}

inline Value scalar_value(std::string text, SourceSpan place = {}) {
  Value value;
  value.kind = Value::Kind::scalar;
  value.scalar = std::move(text);
  value.span = std::move(place);
  return value;
}

// "a size", "a list", ... for messages.
std::string_view kind_name(Value::Kind kind);

// Parses one YAML document whose top is a map. `what` names the content for messages. Throws InputError for
// syntax errors, duplicate keys, keys that are not plain text, several documents, nesting deeper than
// kDeepestNesting or more than kMostYamlValues (so that aliases cannot blow up).
Value parse_yaml(const LoadedText& text, std::string_view what);
Value load_yaml(const std::string& path, std::string_view what);

// Parses the right-hand side of --set: any YAML value.
Value parse_yaml_value(const Located& text);

// Text on one line that reads back as the same value ("[8, 64]", "{rank: 3, slowdown: 1.2}", "\"a: b\"").
std::string to_flow_text(const Value& value);

// The same, but a single value as it stands, without quotes ("a: b").
std::string text_of(const Value& value);

}  // namespace ddpsim::config
