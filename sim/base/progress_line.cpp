#include "sim/base/progress_line.hpp"

#include <cstdio>

#include <fmt/format.h>
#include <unistd.h>

namespace ddpsim {

ProgressLine::ProgressLine(bool quiet) : shown_(!quiet && isatty(STDERR_FILENO) != 0) {}

void ProgressLine::show(std::string_view text) {
  auto now = std::chrono::steady_clock::now();
  if (!shown_ || now - last_ < std::chrono::seconds(1)) return;
  last_ = now;
  visible_ = true;
  fmt::print(stderr, "\r{}\033[K", text);
}

void ProgressLine::clear() {
  if (visible_) fmt::print(stderr, "\r\033[K");
  visible_ = false;
}

}  // namespace ddpsim
