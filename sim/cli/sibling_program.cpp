#include "sim/cli/sibling_program.hpp"

#include <filesystem>

#include <unistd.h>

#include "sim/base/backend_missing.hpp"

namespace ddpsim::cli {

std::string sibling_program(const std::string& name, const std::string& missing) {
  auto program = std::filesystem::read_symlink("/proc/self/exe").parent_path() / name;
  if (access(program.c_str(), X_OK) != 0) throw BackendMissing(missing);
  return program;
}

}  // namespace ddpsim::cli
