#include "sim/engine/broadcasts.hpp"

#include <algorithm>

#include "sim/engine/simulator.hpp"

namespace ddpsim {

std::optional<Seconds> construction_broadcast(const Scenario& scenario) {
  auto sizes = construction_broadcasts(*scenario.trace, scenario.plan);
  if (sizes.empty() || (scenario.measured_table && scenario.measured_table->is_replay())) return std::nullopt;
  Seconds longest;
  for (const auto& [groups, cost] : costs_of(scenario)) {
    Seconds sum;
    for (auto bytes : sizes) sum += cost->alone(Operation::broadcast, bytes).idle;
    longest = std::max(longest, sum);
  }
  return longest;
}

}  // namespace ddpsim
