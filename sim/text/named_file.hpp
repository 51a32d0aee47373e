#pragma once
#include <string>

#include "sim/config/value.hpp"

namespace ddpsim {

// The path of a file that a topology file names, relative to itself. Throws InputError at the value when
// there is none.
std::string named_file(const Located& named, const std::string& topology_file);

}  // namespace ddpsim
