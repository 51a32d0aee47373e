#include "validate/testbed/link_clock.hpp"

#include <algorithm>

namespace ddpsim::validate {

Seconds LinkClock::arrival(Seconds now, Bytes bytes) {
  busy_until_ = std::max(now, busy_until_) + bytes / rate_;
  return busy_until_ + delay_;
}

}  // namespace ddpsim::validate
