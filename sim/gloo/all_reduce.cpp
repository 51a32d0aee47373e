#include "sim/gloo/all_reduce.hpp"

#include <algorithm>

namespace ddpsim::gloo {

// Every rank sends 2(n-1)/n of the buffer and adds up half of what it receives; segments overlap (two are in
// flight, gloo/allreduce.cc), so that the slowest of the process, the machine and the network says how long.
Seconds AllReduceCost::ring_transfer(Bytes bytes) const {
  double n = group_.ranks, on_machine = group_.ranks_per_machine;
  Bytes sent = bytes * (2 * (n - 1) / n);
  double cached = std::min(1.0, host_.cache / (bytes * on_machine));
  Seconds process = sent * cached / host_.cached_bandwidth + sent * (1 - cached) / host_.process_bandwidth +
                    sent / 2.0 / host_.reduction_bandwidth;
  Seconds longest = process;
  if (host_.machine_bandwidth) longest = std::max(longest, sent * on_machine / *host_.machine_bandwidth);
  if (group_.network) longest = std::max(longest, sent / *group_.network);
  return longest;
}

Seconds AllReduceCost::operator()(Bytes bytes) const {
  double steps = 2.0 * (group_.ranks - 1);
  Seconds time = (host_.step_latency + group_.network_latency) * steps;
  if (bytes <= Bytes(0)) return time;
  time += ring_transfer(bytes);
  if (group_.copy) time += 2 * (bytes / *group_.copy);
  return time;
}

}  // namespace ddpsim::gloo
