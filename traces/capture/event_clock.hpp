#pragma once
// Moments of a training step, on the clock of the device that does the work.
#include <cstddef>
#include <memory>
#include <vector>

#include "sim/base/units.hpp"

namespace ddpsim {

class EventClock {
 public:
  virtual ~EventClock() = default;
  // The moment at which the device has done all that was asked of it up to now. `event` is below the number
  // given at creation; each is marked once a step, event 0 first.
  virtual void mark(std::size_t event) = 0;
  // Waits for the device; then the time of each event since event 0.
  virtual std::vector<Seconds> times() = 0;
};

// The host's monotonic clock: on a CPU, work is done when the call returns.
std::unique_ptr<EventClock> make_host_clock(std::size_t n_events);

}  // namespace ddpsim
