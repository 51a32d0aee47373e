#pragma once
// One line on the terminal that says how far the work is.
#include <chrono>
#include <cstddef>
#include <string>
#include <string_view>

namespace ddpsim {

// Shown on standard error when that is a terminal, once the work has taken a second, at most once a second;
// gone when the object is.
class ProgressLine {
 public:
  // `what` is counted: "points".
  explicit ProgressLine(bool quiet, std::string what = "points");
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(std::string_view text);
  // "812 of 10000 points, 405 a second, 23 s left"; `before` of them were done when this was made.
  void show_done(std::size_t done, std::size_t all, std::size_t before = 0);
  void clear();

 private:
  std::string what_;
  bool shown_, visible_ = false;
  std::chrono::steady_clock::time_point began_ = std::chrono::steady_clock::now(), last_ = began_;
};

}  // namespace ddpsim
