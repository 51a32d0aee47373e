#include "sim/base/progress_line.hpp"

#include <unistd.h>

#include "sim/base/standard_error.hpp"

namespace ddpsim {

ProgressLine::ProgressLine(bool quiet) : shown_(!quiet && isatty(STDERR_FILENO) != 0) {}

void ProgressLine::show(std::string_view text) {
  auto now = std::chrono::steady_clock::now();
  if (!shown_ || now - last_ < std::chrono::seconds(1)) return;
  last_ = now;
  visible_ = true;
  print_stderr("\r{}\033[K", text);
}

void ProgressLine::clear() {
  if (visible_) write_stderr("\r\033[K");
  visible_ = false;
}

}  // namespace ddpsim
