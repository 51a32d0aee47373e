#include "sim/base/progress_line.hpp"

#include <algorithm>
#include <utility>

#include <fmt/core.h>
#include <unistd.h>

#include "sim/base/standard_error.hpp"

namespace ddpsim {

ProgressLine::ProgressLine(bool quiet, std::string what)
    : what_(std::move(what)), shown_(!quiet && isatty(STDERR_FILENO) != 0) {}

void ProgressLine::show(std::string_view text) {
  auto now = std::chrono::steady_clock::now();
  if (!shown_ || now - last_ < std::chrono::seconds(1)) return;
  last_ = now;
  visible_ = true;
  print_stderr("\r{}\033[K", text);
}

void ProgressLine::show_done(std::size_t done, std::size_t all, std::size_t before) {
  if (!shown_) return;
  double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began_).count();
  double rate = static_cast<double>(done - before) / std::max(seconds, 1e-3);
  show(rate > 0 ? fmt::format("{} of {} {}, {:.3g} a second, {:.0f} s left", done, all, what_, rate,
                              static_cast<double>(all - done) / rate)
                : fmt::format("{} of {} {}", done, all, what_));
}

void ProgressLine::clear() {
  if (visible_) write_stderr("\r\033[K");
  visible_ = false;
}

}  // namespace ddpsim
