#include "validate/gloo/flight_times.hpp"

#include <algorithm>

#include "sim/base/check.hpp"

namespace ddpsim::validate {

std::vector<CollectiveTimes> times_of(const std::vector<Flight>& flights, int threads, Moment start) {
  std::vector<CollectiveTimes> times;
  std::vector<Moment> free(static_cast<std::size_t>(threads), start);
  for (const auto& [launch, end] : flights) {
    DDPSIM_CHECK(end >= launch, "a collective that was waited for has ended");
    auto thread = std::min_element(free.begin(), free.end());
    times.push_back({between(start, launch), between(start, std::max(launch, *thread)), between(start, end)});
    *thread = end;
  }
  return times;
}

}  // namespace ddpsim::validate
