#pragma once
#include <cstdint>
#include <memory>
#include <vector>

#include "sim/cost/collective_cost.hpp"
#include "sim/engine/scenario.hpp"
#include "sim/timeline/timeline.hpp"

namespace ddpsim {

// Times count from the start of the last backward pass of the slowest rank class, had its group no offset
// (what comes before lies before zero).
struct SimulatedIteration {
  Timeline timeline;
  std::int64_t simulated_flows = 0;  // that a network carried; 0 where nobody shares links
};

// One iteration after another. What collectives cost is kept while the communication stays the same, and the
// program while the plan does: points of a sweep mostly share the one, iterations that differ both.
class Simulator {
 public:
  // Throws InternalError when a collective never ends. Uses up the process where the scenario says so.
  SimulatedIteration operator()(const Scenario& scenario);

 private:
  struct Prepared;
  std::shared_ptr<Prepared> prepared_;
};

// By RankClass::program.
std::vector<StepProgram> programs_of(const Scenario& scenario);

// Of a scenario's communicators, as much slower as it says: by group of its folded traffic, where it has any.
std::vector<GroupCost> costs_of(const Scenario& scenario);

}  // namespace ddpsim
