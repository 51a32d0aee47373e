#pragma once
// One line on the terminal that says how far the work is.
#include <chrono>
#include <string_view>

namespace ddpsim {

// Shown on standard error when that is a terminal, once the work has taken a second, at most once a second;
// gone when the object is.
class ProgressLine {
 public:
  explicit ProgressLine(bool quiet);
  ~ProgressLine() { clear(); }
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(std::string_view text);
  void clear();

 private:
  bool shown_, visible_ = false;
  std::chrono::steady_clock::time_point last_ = std::chrono::steady_clock::now();
};

}  // namespace ddpsim
