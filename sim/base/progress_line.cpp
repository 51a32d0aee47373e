#include "sim/base/progress_line.hpp"

#include <algorithm>
#include <csignal>
#include <system_error>
#include <utility>

#include <fmt/core.h>
#include <unistd.h>

#include "sim/base/doing.hpp"
#include "sim/base/standard_error.hpp"

namespace ddpsim {
namespace {

constexpr std::chrono::seconds kEach(1), kEachElsewhere(30), kRecent(10);

}  // namespace

ProgressLine::ProgressLine(bool quiet, std::string what)
    : what_(std::move(what)),
      is_terminal_(isatty(STDERR_FILENO) != 0),
      shown_(!quiet),
      each_(is_terminal_ ? kEach : kEachElsewhere) {}

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
  write_stderr(is_terminal_ ? fmt::format("\r{}\033[K", text) : fmt::format("{}\n", text));
}

void ProgressLine::show(std::string_view text) {
  std::lock_guard lock(mutex_);
  if (auto now = Clock::now(); shown_ && now - last_ >= each_) write(text, now);
}

void ProgressLine::show_done(std::size_t done, std::size_t all, std::size_t before, std::string more) {
  if (!shown_) return;
  std::lock_guard lock(mutex_);
  count_ = {done, all, before, std::move(more)};
  auto now = Clock::now();
  if (recent_.empty() || now - recent_.back().first > kEach / 10) recent_.emplace_back(now, done);
  while (recent_.size() > 2 && now - recent_[1].first > kRecent) recent_.pop_front();
  if (now - last_ >= each_) write(text(now), now);
  if (again_.joinable() || !is_terminal_) return;
  // Signals are the main thread's.
  sigset_t all_signals, usual;
  sigfillset(&all_signals);
  pthread_sigmask(SIG_SETMASK, &all_signals, &usual);
  try {
    again_ = std::thread([this] { show_again(); });
  } catch (const std::system_error&) {
    shown_ = false;  // where no more processes may run there is no line
  }
  pthread_sigmask(SIG_SETMASK, &usual, nullptr);
}

void ProgressLine::show_again() {
  std::unique_lock lock(mutex_);
  while (!ends_) {
    wakes_.wait_until(lock, last_ + each_);
    if (auto now = Clock::now(); !ends_ && now - last_ >= each_ && count_.done < count_.all)
      write(text(now), now);
    else if (!ends_ && now - last_ >= each_)
      last_ = now;
  }
}

std::string ProgressLine::text(Clock::time_point now) const {
  const auto& [done, all, before, more] = count_;
  auto seconds_since = [&](Clock::time_point then) {
    return std::chrono::duration<double>(now - then).count();
  };
  double seconds = seconds_since(began_);
  if (done == before) {
    auto doing = doing_now();
    if (all == 1 && !doing.empty()) return fmt::format("{} after {:.0f} s", doing, seconds);
    return fmt::format("{} of {} {} after {:.0f} s{}{}", done, all, what_, seconds, doing.empty() ? "" : ": ",
                       doing);
  }
  auto [then, done_then] = recent_.front();
  double rate = done > done_then ? static_cast<double>(done - done_then) / std::max(seconds_since(then), 1e-3)
                                 : static_cast<double>(done - before) / std::max(seconds, 1e-3);
  return fmt::format("{} of {} {}, {:.0f} s, at most {:.0f} s left{}{}", done, all, what_, seconds,
                     static_cast<double>(all - done) / rate, more.empty() ? "" : "; ", more);
}

void ProgressLine::clear() {
  std::lock_guard lock(mutex_);
  if (visible_ && is_terminal_) write_stderr("\r\033[K");
  visible_ = false;
}

}  // namespace ddpsim
