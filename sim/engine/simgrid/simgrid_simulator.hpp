#pragma once
#include <string>

#include "sim/engine/simulator.hpp"

namespace ddpsim {

// Discrete-event simulation on SimGrid, with the executor the scenario's fidelity names (exact, folded,
// lazy or fluid). One run a process.
class SimGridSimulator : public Simulator {
 public:
  Timeline run(const Scenario& scenario) override;
  std::vector<GroupCollectives> collectives(const Scenario& scenario) override;
  [[nodiscard]] bool uses_up_process() const override { return true; }
};

std::string simgrid_version();

}  // namespace ddpsim
