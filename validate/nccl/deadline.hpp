#pragma once
// How long something may take, and how a thread waits meanwhile.
#include <algorithm>
#include <chrono>
#include <cmath>
#include <thread>

#include "sim/base/units.hpp"

namespace ddpsim::validate {

class Deadline {
 public:
  explicit Deadline(Seconds from_now)
      : end_(Clock::now() + std::chrono::duration_cast<Clock::duration>(
                                std::chrono::duration<double>(std::min(from_now.value(), 1e9)))) {}
  [[nodiscard]] bool passed() const { return Clock::now() >= end_; }
  [[nodiscard]] Seconds left() const {
    return Seconds(std::max(0.0, std::chrono::duration<double>(end_ - Clock::now()).count()));
  }
  [[nodiscard]] int milliseconds_left() const {  // for poll()
    return static_cast<int>(std::min(std::ceil(1e3 * left().value()), 1e9));
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point end_;
};

// Between two looks at something that mostly happens soon: gives way first, sleeps later.
class Pause {
 public:
  void once() {
    if (++looks_ < 1000)
      std::this_thread::yield();
    else
      std::this_thread::sleep_for(std::chrono::microseconds(50));
  }

 private:
  int looks_ = 0;
};

}  // namespace ddpsim::validate
