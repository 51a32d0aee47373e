#include "sim/replay/paced_network.hpp"

#include <algorithm>

namespace ddpsim {

void PacedNetwork::after(Seconds delay, std::function<void()> action) {
  int number = next_++;
  Timer timer{now() + delay, std::move(action)};
  if (spare_.empty()) {
    set(number, timers_.emplace_hint(timers_.end(), number, std::move(timer))->second);
    return;
  }
  auto node = std::move(spare_.back());
  spare_.pop_back();
  node.key() = number;
  node.mapped() = std::move(timer);
  set(number, timers_.insert(timers_.end(), std::move(node))->second);
}

void PacedNetwork::set(int number, Timer& timer) {
  Seconds delay = std::max(Seconds(0), timer.due - now()) / pace_;
  network_.after(delay, [this, number, set = ++timer.set] {
    auto it = timers_.find(number);
    if (it == timers_.end() || it->second.set != set) return;
    auto action = std::move(it->second.action);
    spare_.push_back(timers_.extract(it));
    action();
  });
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
  for (auto& [number, timer] : timers_) set(number, timer);
  for (auto& [number, sent] : sent_) send(number, sent, left[number]);
}

}  // namespace ddpsim
