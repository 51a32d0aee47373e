#pragma once
// YAML texts for tests of sim/config.
#include <string>

#include <yaml-cpp/yaml.h>

#include "sim/config/value.hpp"

#include "tests/support/errors.hpp"

namespace ddpsim::testing {

inline config::Value parse(const std::string& text) {
  return config::parse_yaml({make_source("a.yaml", text), text}, "a scenario");
}

inline std::string parse_error(const std::string& text) {
  return input_error([&] { parse(text); });
}

// Text that reads back as the same value, on one line ("[8, 64]", "{rank: 3, slowdown: 1.2}").
inline std::string to_flow_text(const config::Value& value) {
  YAML::Emitter out;
  auto emit = [&out](auto& self, const config::Value& v) -> void {
    switch (v.kind) {
      case config::Value::Kind::null:
        out << YAML::Null;
        break;
      case config::Value::Kind::scalar:
        out << v.scalar;
        break;
      case config::Value::Kind::sequence:
        out << YAML::Flow << YAML::BeginSeq;
        for (const auto& item : v.items) self(self, item);
        out << YAML::EndSeq;
        break;
      case config::Value::Kind::map:
        out << YAML::Flow << YAML::BeginMap;
        for (const auto& entry : v.entries) {
          out << YAML::Key << entry.key << YAML::Value;
          self(self, entry.value);
        }
        out << YAML::EndMap;
        break;
    }
  };
  emit(emit, value);
  return out.c_str();
}

}  // namespace ddpsim::testing
