#pragma once
// A cluster of ranks with a port each, for tests of what a schedule takes on links.
#include <numeric>
#include <vector>

#include "sim/collective/algorithms.hpp"
#include "sim/collective/fold.hpp"

namespace ddpsim::testing {

// Rank r sends through link 2r and receives through link 2r + 1; a message pays the latency of its sender. 5
// us and 100 Gbit/s unless changed.
struct Ports {
  explicit Ports(int n, Seconds latency = Seconds(5e-6), BytesPerSecond bandwidth = BytesPerSecond(12.5e9))
      : capacities(2 * std::size_t(n), bandwidth), latencies(std::size_t(n), latency) {}

  std::vector<BytesPerSecond> capacities;  // by link
  std::vector<Seconds> latencies;          // by rank

  [[nodiscard]] Path path(int from, int to) const {
    return {{2 * from, 2 * to + 1}, latencies[from], std::min(capacities[2 * from], capacities[2 * to + 1])};
  }
  // A group of these ranks, as local ranks from 0.
  [[nodiscard]] Wiring wiring(std::vector<int> ranks) const {
    Wiring wiring;
    wiring.ranks = static_cast<int>(ranks.size());
    wiring.path = [this, ranks = std::move(ranks)](int from, int to) { return path(ranks[from], ranks[to]); };
    return wiring;
  }
  [[nodiscard]] Wiring wiring() const {
    std::vector<int> all(latencies.size());
    std::iota(all.begin(), all.end(), 0);
    return wiring(std::move(all));
  }
  // All-reduce of these ranks around one ring.
  [[nodiscard]] CollectiveSchedule ring(const std::vector<int>& ranks) const {
    std::vector<int> order(ranks.size());
    std::iota(order.begin(), order.end(), 0);
    return ddpsim::ring(Operation::all_reduce, wiring(ranks), {order});
  }
  [[nodiscard]] CollectiveSchedule ring() const {
    std::vector<int> all(latencies.size());
    std::iota(all.begin(), all.end(), 0);
    return ring(all);
  }
  // A chain from rank 0 to the last.
  [[nodiscard]] CollectiveSchedule chain() const {
    std::vector<int> order(latencies.size());
    std::iota(order.begin(), order.end(), 0);
    return ddpsim::chain(Operation::broadcast, wiring(), {order});
  }

  // These groups, all of them alike as far as launches go. The schedules and this outlive it.
  [[nodiscard]] Traffic traffic(const std::vector<const CollectiveSchedule*>& schedules) const {
    Traffic traffic;
    for (const auto* schedule : schedules) traffic.groups.push_back({schedule, 0});
    traffic.capacity = [this](int link) { return capacities[std::size_t(link)]; };
    return traffic;
  }
};

}  // namespace ddpsim::testing
