#pragma once
// What nlohmann-json says of a text that is no JSON, for our own messages.
#include <string>

namespace ddpsim {

struct JsonError {
  std::string reason;    // "while parsing ...; last read: 'x'": without the parser's number and the place
  bool cut_off = false;  // the text ended too early
};

// `what` is the parser's: "[json.exception.parse_error.101] parse error at line 1, column 5: syntax error
// ...".
JsonError describe_json_error(const std::string& what);

}  // namespace ddpsim
