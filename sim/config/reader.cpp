#include "sim/config/reader.hpp"

#include <algorithm>
#include <cctype>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/suggest.hpp"

namespace ddpsim::config {
namespace {

const Value& scalar(const Value& value, std::string_view expected, std::string_view example) {
  if (value.kind != Value::Kind::scalar || value.scalar.empty())
    throw InputError(value.span,
                     fmt::format("expected {}, found {}", expected,
                                 value.kind == Value::Kind::scalar ? "empty text" : kind_name(value.kind)),
                     fmt::format("write it like {}", example));
  return value;
}

InputError unknown_word(const Value& value, const std::vector<std::string>& words, std::string hint) {
  return {value.span, fmt::format("unknown value '{}'{}", value.scalar, did_you_mean(value.scalar, words)),
          std::move(hint)};
}

}  // namespace

Bytes as_bytes(const Value& value) {
  return parse_bytes(scalar(value, "a size", "25MiB").located());
}
BytesPerSecond as_bandwidth(const Value& value) {
  return parse_bandwidth(scalar(value, "a bandwidth", "12.5GB/s").located());
}
Seconds as_seconds(const Value& value) {
  return parse_seconds(scalar(value, "a time", "5us").located());
}
FlopsPerSecond as_flops_rate(const Value& value) {
  return parse_flops_rate(scalar(value, "a rate of operations", "66.9TFLOP/s").located());
}
std::string as_string(const Value& value) {
  return scalar(value, "text", "'key: text'").scalar;
}

InputError wrong_kind(const Value& value, std::string_view expected) {
  return {value.span, fmt::format("expected {}, found {}", expected, kind_name(value.kind)),
          value.kind == Value::Kind::sequence ? "write one number here; several go into an axis of 'sweep'"
                                              : "write one number"};
}

bool as_bool(const Value& value) {
  const auto& text = scalar(value, "true or false", "true").scalar;
  if (text == "true") return true;
  if (text == "false") return false;
  throw InputError(value.span, fmt::format("'{}' is neither true nor false", text), "write true or false");
}

std::size_t word_index(const Value& value, const std::vector<std::string>& words) {
  const auto& text = scalar(value, "a word", words.front()).scalar;
  auto it = std::find(words.begin(), words.end(), text);
  if (it == words.end()) throw unknown_word(value, words, fmt::format("one of {}", fmt::join(words, ", ")));
  return static_cast<std::size_t>(it - words.begin());
}

bool is_word(const Value& value, std::string_view word) {
  return value.kind == Value::Kind::scalar && value.scalar == word;
}

void check_word(const Value& value, const std::vector<std::string>& words, const char* hint) {
  if (value.kind != Value::Kind::scalar || value.scalar.empty()) return;
  bool is_some_word = std::isalpha(static_cast<unsigned char>(value.scalar.front())) != 0;
  if (is_some_word && std::find(words.begin(), words.end(), value.scalar) == words.end())
    throw unknown_word(value, words, hint);
}

const std::vector<Value>& items_of(const Value& value) {
  if (value.kind != Value::Kind::sequence)
    throw InputError(value.span, fmt::format("expected a list, found {}", kind_name(value.kind)),
                     "write it like [a, b]");
  return value.items;
}

InputError lacks_key(const SourceSpan& map, std::string_view name, std::string_view key) {
  return {map, fmt::format("'{}' lacks the key '{}'", name, key), fmt::format("add '{}: ...'", key)};
}

void check_map(const Value& value, std::string_view name) {
  if (value.kind != Value::Kind::map)
    throw InputError(value.span, fmt::format("'{}' is a map of keys, not {}", name, kind_name(value.kind)),
                     "write 'key: value' lines below it");
}

MapReader::MapReader(const Value& map, std::string name, const std::vector<std::string>& words)
    : map_(&map), name_(std::move(name)) {
  if (map.kind == Value::Kind::scalar && !words.empty())
    throw unknown_word(
        map, words,
        fmt::format("write {}, or 'key: value' lines below '{}'", fmt::join(words, " or "), name_));
  check_map(map, name_);
}

const Value* MapReader::find(std::string_view key) {
  if (std::find(known_.begin(), known_.end(), key) == known_.end()) known_.emplace_back(key);
  const Entry* entry = map_->find(key);
  return entry ? &entry->value : nullptr;
}

const Value& MapReader::require(std::string_view key) {
  if (const Value* value = find(key)) return *value;
  const std::vector<std::string> missing{std::string(key)};
  for (const auto& entry : map_->entries) {  // a misspelt key rather than a missing one
    if (std::find(known_.begin(), known_.end(), entry.key) != known_.end()) continue;
    if (auto suggestion = did_you_mean(entry.key, missing); !suggestion.empty())
      throw InputError(entry.key_span, fmt::format("unknown key '{}'{}", entry.key, suggestion),
                       fmt::format("'{}' needs the key '{}'", name_, key));
  }
  throw lacks_key(map_->span, name_, key);
}

void MapReader::finish() const {
  for (const auto& entry : map_->entries)
    if (std::find(known_.begin(), known_.end(), entry.key) == known_.end())
      throw InputError(entry.key_span,
                       fmt::format("unknown key '{}'{}", entry.key, did_you_mean(entry.key, known_)),
                       fmt::format("'{}' knows {}", name_, fmt::join(known_, ", ")));
}

}  // namespace ddpsim::config
