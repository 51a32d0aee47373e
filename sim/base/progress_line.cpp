#include "sim/base/progress_line.hpp"

#include <algorithm>
#include <csignal>
#include <utility>

#include <fmt/core.h>
#include <unistd.h>

#include "sim/base/doing.hpp"
#include "sim/base/standard_error.hpp"

namespace ddpsim {
namespace {

constexpr std::chrono::seconds kEach(1);

}  // namespace

ProgressLine::ProgressLine(bool quiet, std::string what)
    : what_(std::move(what)), shown_(!quiet && isatty(STDERR_FILENO) != 0) {}

ProgressLine::~ProgressLine() {
  clear();
  {
    std::lock_guard lock(mutex_);
    ends_ = true;
  }
  wakes_.notify_all();
  if (again_.joinable()) again_.join();
}

void ProgressLine::write(std::string_view text, Clock::time_point now) {
  last_ = now;
  visible_ = true;
  write_stderr(fmt::format("\r{}\033[K", text));
}

void ProgressLine::show(std::string_view text) {
  std::lock_guard lock(mutex_);
  if (auto now = Clock::now(); shown_ && now - last_ >= kEach) write(text, now);
}

void ProgressLine::show_done(std::size_t done, std::size_t all, std::size_t before) {
  if (!shown_) return;
  std::lock_guard lock(mutex_);
  count_ = {done, all, before};
  if (auto now = Clock::now(); now - last_ >= kEach) write(text(now), now);
  if (again_.joinable()) return;
  // Signals are the main thread's.
  sigset_t all_signals, usual;
  sigfillset(&all_signals);
  pthread_sigmask(SIG_SETMASK, &all_signals, &usual);
  again_ = std::thread([this] { show_again(); });
  pthread_sigmask(SIG_SETMASK, &usual, nullptr);
}

void ProgressLine::show_again() {
  std::unique_lock lock(mutex_);
  while (!ends_) {
    wakes_.wait_until(lock, last_ + kEach);
    if (auto now = Clock::now(); !ends_ && now - last_ >= kEach && count_.done < count_.all)
      write(text(now), now);
    else if (!ends_ && now - last_ >= kEach)
      last_ = now;
  }
}

std::string ProgressLine::text(Clock::time_point now) const {
  const auto& [done, all, before] = count_;
  double seconds = std::chrono::duration<double>(now - began_).count();
  double rate = static_cast<double>(done - before) / std::max(seconds, 1e-3);
  if (rate == 0) {
    auto doing = doing_now();
    if (all == 1 && !doing.empty()) return fmt::format("{} after {:.0f} s", doing, seconds);
    return fmt::format("{} of {} {} after {:.0f} s{}{}", done, all, what_, seconds, doing.empty() ? "" : ": ",
                       doing);
  }
  return fmt::format("{} of {} {}, {:.3g} a second, {:.0f} s left", done, all, what_, rate,
                     static_cast<double>(all - done) / rate);
}

void ProgressLine::clear() {
  std::lock_guard lock(mutex_);
  if (visible_) write_stderr("\r\033[K");
  visible_ = false;
}

}  // namespace ddpsim
