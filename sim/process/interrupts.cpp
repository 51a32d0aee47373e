#include "sim/process/interrupts.hpp"

#include <chrono>
#include <utility>

namespace ddpsim {
namespace {

std::function<void()>& current_check() {
  static std::function<void()> check;
  return check;
}

}  // namespace

void set_interrupt_check(std::function<void()> check) {
  current_check() = std::move(check);
}

void check_interrupts() {
  if (!current_check()) return;
  thread_local auto last = std::chrono::steady_clock::time_point();
  auto now = std::chrono::steady_clock::now();
  if (now - last < std::chrono::milliseconds(50)) return;
  last = now;
  current_check()();
}

}  // namespace ddpsim
