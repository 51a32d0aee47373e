#include "validate/gloo/host_clock.hpp"

#include <ctime>

namespace ddpsim::validate {

Moment now() {
  timespec time{};
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * Moment{1'000'000'000} + time.tv_nsec;
}

}  // namespace ddpsim::validate
