#include "validate/gloo/host_clock.hpp"

#include <cerrno>
#include <ctime>

namespace ddpsim::validate {

Moment now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * Moment{1'000'000'000} + time.tv_nsec;
}

void sleep_until(Moment moment) {
  timespec time{moment / 1'000'000'000, moment % 1'000'000'000};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nullptr) == EINTR) {
  }
}

}  // namespace ddpsim::validate
