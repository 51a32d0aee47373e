#pragma once
#include <string>

namespace ddpsim {

// The text as a string of YAML and of Graphviz: in double quotes, with a backslash before quotes and
// backslashes.
std::string double_quoted(const std::string& text);

}  // namespace ddpsim
