#include "sim/gloo/cost_model.hpp"

#include <algorithm>
#include <bit>

namespace ddpsim::gloo {

Seconds CostModel::process_time(Bytes sent, Bytes bytes) const {
  double cached = std::min(1.0, host_.cache / (bytes * group_.ranks_per_machine));
  return sent * cached / host_.cached_bandwidth + sent * (1 - cached) / host_.process_bandwidth;
}

Seconds CostModel::bounded(Seconds time, Bytes sent, double senders) const {
  if (host_.machine_bandwidth) time = std::max(time, sent * senders / *host_.machine_bandwidth);
  if (group_.network) time = std::max(time, sent / *group_.network);
  return time;
}

Seconds CostModel::copies(Bytes bytes) const {
  return group_.copy ? 2 * (bytes / *group_.copy) : Seconds(0);
}

// gloo/allreduce.cc: a ring, in which every rank sends 2(n-1)/n of the buffer and adds up half of what it
// receives. Segments overlap (two are in flight), so that the slowest of process, machine and network says
// how long.
Seconds CostModel::all_reduce(Bytes bytes) const {
  double n = group_.ranks;
  Seconds time = (host_.step_latency + group_.network_latency) * (2 * (n - 1));
  if (bytes <= Bytes(0)) return time;
  Bytes sent = bytes * (2 * (n - 1) / n);
  Seconds process = process_time(sent, bytes) + sent / 2.0 / host_.reduction_bandwidth;
  return time + bounded(process, sent, group_.ranks_per_machine) + copies(bytes);
}

// gloo/broadcast.cc: a binomial tree, whose every round sends all of the buffer from all ranks that have it.
// From one rank on a machine to half of them send.
Seconds CostModel::broadcast(Bytes bytes) const {
  auto rounds = static_cast<double>(std::bit_width(static_cast<unsigned>(group_.ranks - 1)));
  Seconds time = (host_.step_latency + group_.network_latency) * rounds;
  if (bytes <= Bytes(0)) return time;
  double most = std::max(1.0, group_.ranks_per_machine / 2.0), senders = 1;
  for (int round = 0; round < static_cast<int>(rounds); ++round, senders = std::min(2 * senders, most))
    time += bounded(process_time(bytes, bytes), bytes, senders);
  return time + copies(bytes);
}

}  // namespace ddpsim::gloo
