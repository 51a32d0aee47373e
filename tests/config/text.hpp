#pragma once
// YAML texts for tests of sim/config.
#include <string>

#include "sim/config/value.hpp"

#include "tests/support/errors.hpp"

namespace ddpsim::testing {

inline config::Value parse(const std::string& text) {
  return config::parse_yaml({make_source("a.yaml", text), text}, "a scenario");
}

inline std::string parse_error(const std::string& text) {
  return brief_error([&] { parse(text); });
}

}  // namespace ddpsim::testing
