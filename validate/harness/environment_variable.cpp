#include "validate/harness/environment_variable.hpp"

#include <charconv>
#include <cstdlib>

#include <fmt/core.h>

#include "sim/base/source.hpp"

namespace ddpsim::validate {

std::optional<std::string> environment_variable(const char* name) {
  const char* value = std::getenv(name);
  return value && *value ? std::optional<std::string>(value) : std::nullopt;
}

std::string required_variable(const char* name, const std::string& hint) {
  auto value = environment_variable(name);
  if (!value) throw InputError(fmt::format("the environment variable {} is not set", name), hint);
  return *value;
}

int required_number(const char* name, int least, int most, const std::string& hint) {
  auto text = required_variable(name, hint);
  int value = 0;
  auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || rest != text.data() + text.size() || value < least || value > most)
    throw InputError(fmt::format("the environment variable {} is '{}', not a whole number from {} to {}",
                                 name, text, least, most),
                     hint);
  return value;
}

}  // namespace ddpsim::validate
