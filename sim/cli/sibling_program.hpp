#pragma once
#include <string>

namespace ddpsim::cli {

// The path of a program of ours that stands beside this one. Throws BackendMissing with `missing` where it
// was not built.
std::string sibling_program(const std::string& name, const std::string& missing);

}  // namespace ddpsim::cli
