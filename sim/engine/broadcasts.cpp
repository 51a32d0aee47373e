#include "sim/engine/broadcasts.hpp"

#include <algorithm>
#include <functional>

#include "sim/base/check.hpp"
#include "sim/collective/time_alone.hpp"

namespace ddpsim {
namespace {

// Of a ring all-reduce's time a broadcast's.
double share_of_all_reduce(int ranks) {
  return ranks / (2.0 * (ranks - 1));
}

Seconds total(std::span<const Bytes> sizes, const std::function<Seconds(Bytes)>& time) {
  Seconds sum;
  for (auto bytes : sizes) sum += time(bytes);
  return sum;
}

// Of a plain ring all-reduce over the links: the chains themselves take as many rounds again to fill and to
// drain as they have ranks, every one of them another one to play.
Seconds over_rings(const Cluster& cluster, std::span<const int> gpus, std::span<const Bytes> sizes) {
  auto schedule = ring_schedule(cluster, gpus, Operation::all_reduce);
  Traffic traffic{{{&schedule, 0}}, {}, [&](int link) { return cluster.link(link).bandwidth; }};
  auto plan = fold(traffic);
  CollectiveTime time(plan.groups.front().plan, plan.links);
  return total(sizes, [&](Bytes bytes) { return time(bytes); });
}

}  // namespace

std::vector<Seconds> broadcast_times(const Scenario& scenario, std::span<const Bytes> sizes) {
  std::vector<Seconds> times;
  for (std::size_t g = 0; g < scenario.groups.size(); ++g) {
    double share = share_of_all_reduce(scenario.groups[g].ranks);
    if (sizes.empty()) {
      times.emplace_back(0);
    } else if (const auto* table = scenario.measured_table.get()) {
      times.push_back(total(sizes, [&](Bytes bytes) { return share * table->time(bytes, false); }));
    } else if (const auto& gloo = scenario.communication->gloo) {
      times.push_back(total(sizes, [&](Bytes bytes) { return gloo->broadcast_time(bytes); }));
    } else if (const auto& communication = *scenario.communication; !communication.nccl.empty()) {
      times.push_back(
          total(sizes, [&](Bytes bytes) { return share * communication.nccl[g]->ring_time(bytes); }));
    } else {
      times.push_back(share * over_rings(*communication.cluster, communication.groups[g], sizes));
    }
  }
  return times;
}

std::optional<Seconds> construction_broadcast(const Scenario& scenario) {
  auto sizes = construction_broadcasts(*scenario.trace, scenario.plan);
  if (sizes.empty() || (scenario.measured_table && scenario.measured_table->cost.is_replay()))
    return std::nullopt;
  auto times = broadcast_times(scenario, sizes);
  return *std::max_element(times.begin(), times.end());
}

void prepend_broadcasts(std::span<const Seconds> times, Timeline& timeline) {
  for (auto& ranks : timeline.rank_classes) {
    auto time = times[ranks.group];
    if (time <= Seconds(0)) continue;
    auto end = ranks.compute.front().start;
    Span span{Activity::broadcast, 0, end - time, end};
    ranks.compute.insert(ranks.compute.begin(), span);
    ranks.communication.insert(ranks.communication.begin(), span);
  }
}

}  // namespace ddpsim
