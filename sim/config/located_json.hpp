#pragma once
// JSON in which every value knows where it stands, and every number how it was written.
#include <string_view>
#include <vector>

#include "sim/base/source.hpp"

namespace ddpsim {

struct JsonMember;

struct JsonValue {
  enum class Kind { null, boolean, number, string, array, object };

  Kind kind = Kind::null;
  Located text;  // numbers as written, strings without quotes and escapes; a container's span is its bracket
  std::vector<JsonMember> members;  // of an object, in the file's order; of an array, without names

  [[nodiscard]] bool is_scalar() const { return kind != Kind::array && kind != Kind::object; }
  // An object's member, or null.
  [[nodiscard]] const JsonValue* find(std::string_view name) const;
  // The same, or an InputError at the object.
  [[nodiscard]] const JsonValue& at(std::string_view name) const;
  // A scalar as a cell of a table, empty for null. Throws InputError for containers.
  [[nodiscard]] const Located& cell() const;
};

struct JsonMember {
  Located name;
  JsonValue value;
};

// Throws InputError with line and column for text that is not JSON, for a name that an object gives twice,
// and for more than 32 levels.
JsonValue parse_json(const LoadedText& text);
// Several values, one after the other: JSON lines.
std::vector<JsonValue> parse_json_lines(const LoadedText& text);

}  // namespace ddpsim
