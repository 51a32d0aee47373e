#include "sim/replay/paced_network.hpp"

#include <algorithm>

namespace ddpsim {

void PacedNetwork::after(Seconds delay, std::function<void()> action) {
  set(timers_.emplace_back(Timer{next_++, now() + delay, std::move(action)}));
}

bool PacedNetwork::pass(Seconds delay) {
  return network_.pass(until(now() + delay));
}

Seconds PacedNetwork::until(Seconds due) const {
  return std::max(Seconds(0), due - now()) / pace_;
}

void PacedNetwork::set(Timer& timer) {
  network_.after(until(timer.due), [this, number = timer.number, set = ++timer.set] { fire(number, set); });
}

void PacedNetwork::fire(int number, int set) {
  auto timer = std::lower_bound(timers_.begin(), timers_.end(), number,
                                [](const Timer& one, int wanted) { return one.number < wanted; });
  if (timer == timers_.end() || timer->number != number || timer->set != set) return;
  auto action = std::move(timer->action);
  if (timer == timers_.begin())
    timers_.pop_front();
  else
    timers_.erase(timer);
  action();
}

int PacedNetwork::transfer(std::span<const int> route, Bytes bytes, std::function<void()> done) {
  int number = next_++;
  send(number, sent_[number] = {route, std::move(done)}, bytes);
  return number;
}

void PacedNetwork::send(int number, Sent& sent, Bytes bytes) {
  sent.transfer = network_.transfer(sent.route, bytes / pace_, [this, number] {
    auto it = sent_.find(number);
    auto done = std::move(it->second.done);
    sent_.erase(it);
    done();
  });
}

void PacedNetwork::set_pace(double pace) {
  if (pace == pace_) return;
  std::map<int, Bytes> left;
  for (const auto& [number, sent] : sent_) left[number] = pace_ * network_.cancel(sent.transfer);
  local_ = now();
  since_ = network_.now();
  pace_ = pace;
  for (auto& timer : timers_) set(timer);
  for (auto& [number, sent] : sent_) send(number, sent, left[number]);
}

}  // namespace ddpsim
