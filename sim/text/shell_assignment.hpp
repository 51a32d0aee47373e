#pragma once
// NAME=value, NAME+=value and NAME=(values).
#include <optional>
#include <string>

#include "sim/text/shell_words.hpp"

namespace ddpsim::shell {

struct Assignment {
  std::string name;
  Variable value;
  bool appends = false;
};

// None: what stands there is none, and nothing is read. `assigns` as of Words::read().
std::optional<Assignment> read_assignment(Source& in, Words& words, bool assigns);

}  // namespace ddpsim::shell
