#pragma once
// Typed reading of a map: each key is asked for by name and type; whatever nobody asked for is an unknown
// key.
#include <cstdint>
#include <optional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include "sim/base/names.hpp"
#include "sim/base/quantity.hpp"
#include "sim/config/value.hpp"

namespace ddpsim::config {

// Conversions of one value. Each throws InputError at the value when it is of another kind or out of range.
Bytes as_bytes(const Value& value);
BytesPerSecond as_bandwidth(const Value& value);
Seconds as_seconds(const Value& value);
FlopsPerSecond as_flops_rate(const Value& value);
bool as_bool(const Value& value);           // true, false
std::string as_string(const Value& value);  // not empty
InputError wrong_kind(const Value& value, std::string_view expected);
InputError lacks_key(const SourceSpan& map, std::string_view name, std::string_view key);
void check_map(const Value& value, std::string_view name);  // throws InputError where it is none
inline auto as_integer(std::int64_t lowest, std::int64_t highest) {
  return [=](const Value& value) {
    if (value.kind != Value::Kind::scalar) throw wrong_kind(value, "a whole number");
    return parse_integer(value.located(), lowest, highest);
  };
}
inline auto as_number(double lowest, double highest) {
  return [=](const Value& value) {
    if (value.kind != Value::Kind::scalar) throw wrong_kind(value, "a number");
    return parse_number(value.located(), lowest, highest);
  };
}

// One of a fixed set of words; `words` pairs each with its meaning.
template <class Enum>
using Words = std::vector<std::pair<std::string, Enum>>;
// Those of an enum, after others.
template <class Meaning, class Enum, std::size_t n>
Words<Meaning> words_of(const Names<Enum, n>& names, Words<Meaning> others = {}) {
  for (const auto& [name, value] : names) others.emplace_back(name, value);
  return others;
}
template <class Enum, std::size_t n>
Words<Enum> words_of(const Names<Enum, n>& names) {
  return words_of<Enum>(names, {});
}
std::size_t word_index(const Value& value, const std::vector<std::string>& words);
template <class Enum>
auto as_word(Words<Enum> words) {
  return [words = std::move(words)](const Value& value) {
    std::vector<std::string> names;
    for (const auto& [name, meaning] : words) names.push_back(name);
    return words[word_index(value, names)].second;
  };
}

bool is_word(const Value& value, std::string_view word);
// Of a value that is one of `words` or something that is no word, like a number: throws InputError with
// `hint` for any other word.
void check_word(const Value& value, const std::vector<std::string>& words, const char* hint);

// A list whose items are converted one by one.
const std::vector<Value>& items_of(const Value& value);
template <class Convert>
auto as_list(Convert convert) {
  return [convert](const Value& value) {
    std::vector<std::invoke_result_t<Convert, const Value&>> list;
    for (const auto& item : items_of(value)) list.push_back(convert(item));
    return list;
  };
}

class MapReader {
 public:
  // `name` is the key path for messages ("ddp"), `words` what may stand in place of the map; throws
  // InputError when the value is not a map.
  MapReader(const Value& map, std::string name, const std::vector<std::string>& words = {});

  template <class Convert>
  auto optional(std::string_view key, Convert convert)
      -> std::optional<std::invoke_result_t<Convert, const Value&>> {
    const Value* value = find(key);
    if (!value) return std::nullopt;
    return convert(*value);
  }
  template <class Convert>
  auto required(std::string_view key, Convert convert) {
    return convert(require(key));
  }
  // The raw value, or null; counts as asked for.
  const Value* find(std::string_view key);
  const Value& require(std::string_view key);

  // Call when every key has been asked for: an entry nobody asked for is an InputError with a suggestion.
  void finish() const;

 private:
  const Value* map_;
  std::string name_;
  std::vector<std::string> known_;
};

}  // namespace ddpsim::config
