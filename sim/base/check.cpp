#include "sim/base/check.hpp"

#include <string_view>

#include <fmt/core.h>

namespace ddpsim {

void fail_check(const char* condition, const char* file, int line, const std::string& message) {
  std::string_view path(file);
  if (auto at = path.rfind("/sim/"); at != std::string_view::npos) path.remove_prefix(at + 1);
  throw InternalError(fmt::format("{} ({} at {}:{})", message, condition, path, line));
}

}  // namespace ddpsim
