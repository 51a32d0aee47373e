#include <chrono>

#include "traces/capture/event_clock.hpp"

namespace ddpsim {
namespace {

class HostClock : public EventClock {
 public:
  explicit HostClock(std::size_t n_events) : moments_(n_events) {}
  void mark(std::size_t event) override { moments_[event] = std::chrono::steady_clock::now(); }
  std::vector<Seconds> times() override {
    std::vector<Seconds> times;
    for (auto moment : moments_)
      times.emplace_back(std::chrono::duration<double>(moment - moments_.front()).count());
    return times;
  }

 private:
  std::vector<std::chrono::steady_clock::time_point> moments_;
};

}  // namespace

std::unique_ptr<EventClock> make_host_clock(std::size_t n_events) {
  return std::make_unique<HostClock>(n_events);
}

}  // namespace ddpsim
