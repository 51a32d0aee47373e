#include <algorithm>
#include <vector>

#include "sim/base/check.hpp"
#include "sim/replay/network.hpp"

namespace ddpsim {
namespace {

class TimerNetwork : public Network {
 public:
  int add_link(BytesPerSecond) override { return links_++; }
  void after(Seconds delay, std::function<void()> action) override {
    DDPSIM_CHECK(delay.value() >= 0, "time goes forward");
    std::size_t place = actions_.size();
    if (free_.empty()) {
      actions_.push_back(std::move(action));
    } else {
      place = free_.back();
      free_.pop_back();
      actions_[place] = std::move(action);
    }
    timers_.push_back({now_ + delay, set_++, place});
    std::push_heap(timers_.begin(), timers_.end());
  }
  bool pass(Seconds delay) override {
    if (!timers_.empty() && timers_.front().due <= now_ + delay) return false;
    now_ = now_ + delay;
    return true;
  }
  int transfer(std::span<const int>, Bytes, std::function<void()>) override {
    DDPSIM_CHECK(false, "nothing is sent over links that nobody shares");
    return 0;
  }
  Bytes cancel(int) override {
    DDPSIM_CHECK(false, "nothing is sent over links that nobody shares");
    return {};
  }
  [[nodiscard]] Seconds now() const override { return now_; }
  [[nodiscard]] std::int64_t flows() const override { return 0; }
  void run() override {
    while (!timers_.empty()) {
      std::pop_heap(timers_.begin(), timers_.end());
      auto [due, number, place] = timers_.back();
      timers_.pop_back();
      now_ = due;
      auto action = std::move(actions_[place]);
      free_.push_back(place);
      action();
    }
  }

 private:
  struct Timer {
    Seconds due;
    std::int64_t number;  // of equal times the first to be set comes first
    std::size_t place;    // of its action
    bool operator<(const Timer& other) const {
      return due > other.due || (due == other.due && number > other.number);
    }
  };
  Seconds now_;
  std::vector<Timer> timers_;  // a heap
  std::vector<std::function<void()>> actions_;
  std::vector<std::size_t> free_;  // places of actions
  std::int64_t set_ = 0;
  int links_ = 0;
};

}  // namespace

std::unique_ptr<Network> make_timer_network() {
  return std::make_unique<TimerNetwork>();
}

}  // namespace ddpsim
