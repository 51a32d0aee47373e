#include "sim/text/value_text.hpp"

#include <fmt/core.h>

namespace ddpsim {

void append_text(std::string& text, const config::Value* value) {
  if (!value) {
    text += '~';
    return;
  }
  switch (value->kind) {
    case config::Value::Kind::null:
      text += '~';
      break;
    case config::Value::Kind::scalar:
      text += fmt::format("{}:{}", value->scalar.size(), value->scalar);
      break;
    case config::Value::Kind::sequence:
      text += '[';
      for (const auto& item : value->items) append_text(text, &item);
      text += ']';
      break;
    case config::Value::Kind::map:
      text += '{';
      for (const auto& entry : value->entries) {
        text += fmt::format("{}:{}", entry.key.size(), entry.key);
        append_text(text, &entry.value);
      }
      text += '}';
      break;
  }
}

}  // namespace ddpsim
