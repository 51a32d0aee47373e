#include "sim/collective/schedule.hpp"

#include <algorithm>
#include <map>
#include <set>
#include <tuple>

#include "sim/base/check.hpp"

namespace ddpsim {

Transfer ring_transfer(Operation operation, int n, int position, int step) {
  auto modulo = [n](int x) { return ((x % n) + n) % n; };
  // Reduce-scatter: position p starts with chunk p and passes on what it received last; after n-1 steps it
  // holds the whole sum of chunk p+1. All-gather then starts from there.
  bool gathering =
      operation == Operation::all_gather || (operation == Operation::all_reduce && step >= n - 1);
  if (!gathering) return {modulo(position - step), true};
  int gather_step = operation == Operation::all_reduce ? step - (n - 1) : step;
  return {modulo(position + 1 - gather_step), false};
}

CollectiveSchedule ring_all_reduce(std::span<const Seconds> latencies,
                                   std::span<const BytesPerSecond> bandwidths) {
  int n = static_cast<int>(latencies.size());
  DDPSIM_CHECK(n >= 2 && bandwidths.size() == latencies.size(),
               "a ring has at least two ranks and one link each");
  CollectiveSchedule schedule{"ring", n, {bandwidths.begin(), bandwidths.end()}, {}};
  Ring ring;
  ring.edges.reserve(latencies.size());
  for (int r = 0; r < n; ++r) {
    auto i = static_cast<std::size_t>(r);
    ring.edges.push_back({r, (r + 1) % n, {r}, latencies[i], bandwidths[i]});
  }
  schedule.stages.push_back({Operation::all_reduce, {}, 2 * (n - 1), n});
  schedule.stages.back().rings.push_back(std::move(ring));
  return schedule;
}

std::vector<EdgeClass> fold(const Stage& stage) {
  std::vector<EdgeClass> classes;
  for (std::size_t r = 0; r < stage.rings.size(); ++r) {
    std::map<std::tuple<Seconds, BytesPerSecond>, std::size_t> known;
    const auto& edges = stage.rings[r].edges;
    for (std::size_t e = 0; e < edges.size(); ++e) {
      auto [it, is_new] = known.try_emplace({edges[e].latency, edges[e].bandwidth}, classes.size());
      if (is_new) classes.push_back({r, e, 0});
      ++classes[it->second].edges;
    }
  }
  return classes;
}

bool shares_links(const CollectiveSchedule& schedule) {
  for (const auto& stage : schedule.stages) {
    std::vector<bool> used(schedule.links.size());
    for (const auto& ring : stage.rings)
      for (const auto& edge : ring.edges)
        for (int link : edge.route) {
          if (used[static_cast<std::size_t>(link)]) return true;
          used[static_cast<std::size_t>(link)] = true;
        }
  }
  return false;
}

ScheduleCost::ScheduleCost(const CollectiveSchedule& schedule) {
  for (std::size_t s = 0; s < schedule.stages.size(); ++s) {
    const auto& stage = schedule.stages[s];
    for (const auto& edge_class : fold(stage)) {
      const auto& edge = stage.rings[edge_class.ring].edges[edge_class.representative];
      terms_.push_back({s, static_cast<double>(stage.steps), static_cast<double>(stage.chunks), edge.latency,
                        edge.bandwidth});
    }
  }
}

Seconds ScheduleCost::operator()(Bytes bytes) const {
  Seconds total, slowest;
  std::size_t stage = 0;
  for (const auto& term : terms_) {
    if (term.stage != stage) {
      total += slowest;
      slowest = Seconds(0);
      stage = term.stage;
    }
    slowest = std::max(slowest, term.steps * (term.latency + bytes / term.chunks / term.bandwidth));
  }
  return total + slowest;
}

}  // namespace ddpsim
