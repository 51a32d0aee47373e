#include "sim/text/hugging_face_values.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/limits.hpp"

namespace ddpsim::hugging_face {

using config::Value;

std::int64_t as_size(const Value& value) {
  return config::as_integer(1, kMostTransformerWidth)(value);
}

const Value* first(const Value& root, Keys keys) {
  for (const char* key : keys)
    if (const auto* entry = root.find(key); entry && entry->value.kind != Value::Kind::null)
      return &entry->value;
  return nullptr;
}

const Value& needed(const Value& root, Keys keys) {
  if (const auto* value = first(root, keys)) return *value;
  throw InputError(root.span, fmt::format("none of {} is there", fmt::join(keys, ", ")),
                   "a config.json of a transformer has one of them; kind: transformer has keys of its own");
}

std::int64_t size_of(const Value& root, Keys keys) {
  const auto* value = first(root, keys);
  return value ? config::as_integer(0, kMostTransformerWidth)(*value) : 0;
}

bool is_true(const Value* value, bool otherwise) {
  return value ? config::as_bool(*value) : otherwise;
}

std::string word_of(const Value* value, const char* fallback) {
  return value && value->kind == Value::Kind::scalar ? value->scalar : fallback;
}

std::string type_of(const Value& root) {
  return word_of(first(root, {"model_type"}), "");
}

}  // namespace ddpsim::hugging_face
