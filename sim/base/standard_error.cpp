#include "sim/base/standard_error.hpp"

#include <cerrno>

#include <unistd.h>

namespace ddpsim {

void write_stderr(std::string_view text) noexcept {
  while (!text.empty()) {
    auto written = write(STDERR_FILENO, text.data(), text.size());
    if (written < 0 && errno == EINTR) continue;
    if (written <= 0) return;
    text.remove_prefix(static_cast<std::size_t>(written));
  }
}

}  // namespace ddpsim
