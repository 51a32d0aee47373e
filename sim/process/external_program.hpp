#pragma once
// Runs another program as a child process: text in, text or a picture out.
#include <string>
#include <string_view>
#include <vector>

namespace ddpsim {

struct ExternalProgram {
  std::string name;  // looked for in PATH
  std::vector<std::string> arguments;
  std::string purpose;  // for the message when it is missing: "plots are drawn"
  std::string package;  // Debian's
};

// Throws BackendMissing unless the program is in PATH.
void require_program(const ExternalProgram& program);

// What it writes to standard output when it reads `text`. Throws BackendMissing when there is no such
// program, EnvironmentError when it cannot be started or is killed, InternalError with its complaint when it
// fails.
std::string run_program(const ExternalProgram& program, std::string_view text);

}  // namespace ddpsim
