#include "sim/text/named_file.hpp"

#include <filesystem>

#include <fmt/core.h>

#include "sim/config/reader.hpp"

namespace ddpsim {

std::string named_file(const Located& named, const std::string& topology_file) {
  namespace fs = std::filesystem;
  fs::path given(named.text);
  auto resolved =
      given.is_absolute() ? given : (fs::path(topology_file).parent_path() / given).lexically_normal();
  std::error_code error;
  if (!fs::exists(resolved, error))
    throw InputError(named.span,
                     fmt::format("{}: {}", error ? error.message() : "no such file", resolved.string()),
                     "the path is relative to the topology");
  return resolved.string();
}

}  // namespace ddpsim
