#include "sim/base/json_error.hpp"

namespace ddpsim {

JsonError describe_json_error(const std::string& what) {
  const std::string start = ": syntax error ";
  auto syntax = what.find(start);
  auto reason =
      syntax != std::string::npos ? what.substr(syntax + start.size()) : what.substr(what.find(']') + 2);
  bool cut_off = reason.find("unexpected end of input") != std::string::npos ||
                 reason.find("missing closing quote") != std::string::npos;
  return {reason, cut_off};
}

}  // namespace ddpsim
