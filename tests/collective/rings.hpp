#pragma once
// Rings for tests of sim/collective.
#include <vector>

#include "sim/collective/schedule.hpp"

namespace ddpsim::testing {

struct RingLinks {
  std::vector<Seconds> latencies;
  std::vector<BytesPerSecond> bandwidths;

  // n equal links; 5 us and 100 Gbit/s unless said otherwise.
  explicit RingLinks(int n, Seconds latency = Seconds(5e-6),
                     BytesPerSecond bandwidth = BytesPerSecond(12.5e9))
      : latencies(static_cast<std::size_t>(n), latency), bandwidths(static_cast<std::size_t>(n), bandwidth) {}

  [[nodiscard]] CollectiveSchedule all_reduce() const { return ring_all_reduce(latencies, bandwidths); }
};

}  // namespace ddpsim::testing
