#pragma once
// Runs gnuplot as a child process.
#include <string>
#include <string_view>

namespace ddpsim {

// Throws BackendMissing unless `program` is in PATH.
void require_gnuplot(const char* program = "gnuplot");

// What gnuplot writes to standard output for a script. `program` is looked for in PATH. Throws BackendMissing
// when there is none, InternalError with its complaint when it fails.
std::string run_gnuplot(std::string_view script, const char* program = "gnuplot");

}  // namespace ddpsim
