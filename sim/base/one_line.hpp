#pragma once
#include <string>

namespace ddpsim {

// Text from outside as it can stand on one line of a header: control characters become blanks, none is left
// around it.
std::string one_line(std::string text);

}  // namespace ddpsim
