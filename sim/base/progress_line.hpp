#pragma once
// One line on the terminal that says how far the work is.
#include <chrono>
#include <condition_variable>
#include <cstddef>
#include <deque>
#include <mutex>
#include <string>
#include <string_view>
#include <thread>
#include <utility>

namespace ddpsim {

// Shown on standard error when that is a terminal, once the work has taken a second, at most once a
// second; gone when the object is. Elsewhere a line of its own every half minute.
class ProgressLine {
 public:
  // `what` is counted: "points".
  explicit ProgressLine(bool quiet, std::string what = "points");
  ~ProgressLine();
  ProgressLine(const ProgressLine&) = delete;
  ProgressLine& operator=(const ProgressLine&) = delete;

  void show(std::string_view text);
  // "812 of 10000 points, 5 s, at most 23 s left; best so far 8.96 s": by the rate of the last ten seconds;
  // `before` of them were done when this was made, `more` is what there is to say of them. Shown again each
  // second until something else is: said of none, "0 of 9 points after 12 s: simulating, 34 % done"
  // (base/doing), it is there before the first is done.
  void show_done(std::size_t done, std::size_t all, std::size_t before = 0, std::string more = "");
  void clear();

 private:
  using Clock = std::chrono::steady_clock;
  struct Count {
    std::size_t done = 0, all = 0, before = 0;
    std::string more = "";
  };

  void show_again();
  void write(std::string_view text, Clock::time_point now);
  [[nodiscard]] std::string text(Clock::time_point now) const;

  std::string what_;
  bool is_terminal_, shown_, visible_ = false, ends_ = false;
  Clock::duration each_;
  Clock::time_point began_ = Clock::now(), last_ = began_;
  Count count_;
  std::deque<std::pair<Clock::time_point, std::size_t>> recent_ = {};  // how many were done when
  // Of what follows and all above, as the line is also written while the work goes on.
  std::mutex mutex_;
  std::condition_variable wakes_;
  std::thread again_;  // begins with the first count
};

// What work() returns. Meanwhile the line says what the process is doing: "simulating, 34 % done after 12 s".
template <class Work>
auto with_progress(bool quiet, Work work) {
  ProgressLine line(quiet);
  line.show_done(0, 1);
  return work();
}

}  // namespace ddpsim
