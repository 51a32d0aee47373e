#pragma once
#include <cstdint>

#include "sim/engine/scenario.hpp"
#include "sim/engine/uncontended_iteration.hpp"
#include "sim/timeline/timeline.hpp"

namespace ddpsim {

// Predicts one iteration. Throws InternalError when a collective never ends.
class Simulator {
 public:
  virtual ~Simulator() = default;
  virtual Timeline run(const Scenario& scenario) = 0;
  // Of a scenario in which nobody shares links unless in step: run() is iterate() of them.
  virtual std::vector<GroupCollectives> collectives(const Scenario& scenario) = 0;
  // That a network carried in the last of these; 0 where nothing is simulated.
  [[nodiscard]] virtual std::int64_t simulated_flows() const = 0;
  // Whether the above use up something a process has only one of (a SimGrid engine); run_all then gives every
  // scenario a process of its own.
  [[nodiscard]] virtual bool uses_up_process() const = 0;
};

}  // namespace ddpsim
