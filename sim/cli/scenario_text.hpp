#pragma once
#include <string>

#include "sim/config/value.hpp"

namespace ddpsim::cli {

// A scenario as a file's text (YAML). Files that it names are found from where it is written, `to` ("-": from
// the current folder); in `root` they are named from the file `from` on, or from the command line.
std::string scenario_text(const config::Value& root, const std::string& from, const std::string& to);

}  // namespace ddpsim::cli
