#include "sim/engine/scenario.hpp"

#include <algorithm>

namespace ddpsim {

std::string_view fidelity_name(Fidelity fidelity) {
  switch (fidelity) {
    case Fidelity::closed_form:
      return "closed_form";
    case Fidelity::exact:
      return "exact";
    case Fidelity::folded:
      return "folded";
    case Fidelity::fluid:
      return "fluid";
  }
  return "?";
}

const RankClass& Scenario::slowest_class() const {
  return *std::max_element(rank_classes.begin(), rank_classes.end(),
                           [](const auto& a, const auto& b) { return a.slowdown < b.slowdown; });
}

CollectiveSchedule collective_schedule(const Scenario& scenario) {
  std::vector<Seconds> latencies;
  std::vector<BytesPerSecond> bandwidths;
  for (const auto& link : scenario.topology->ring_links(scenario.world_size)) {
    latencies.push_back(link.latency);
    bandwidths.push_back(link.bandwidth);
  }
  return ring_all_reduce(latencies, bandwidths);
}

}  // namespace ddpsim
