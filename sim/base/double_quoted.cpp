#include "sim/base/double_quoted.hpp"

namespace ddpsim {

std::string double_quoted(const std::string& text) {
  std::string result = "\"";
  for (char c : text) {
    if (c == '"' || c == '\\') result += '\\';
    result += c;
  }
  return result + '"';
}

}  // namespace ddpsim
