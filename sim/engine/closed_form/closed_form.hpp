#pragma once
// The contention-free equations, without an engine.
#include "sim/engine/simulator.hpp"

namespace ddpsim {

// One communication lane, first in first out (docs/model.md, "Overlap"):
//   start_k = max(launch_k, end_(k-1)),  end_k = start_k + a(bytes_k)
class ClosedFormSimulator : public Simulator {
 public:
  Timeline run(const Scenario& scenario) override;
  std::vector<GroupCollectives> collectives(const Scenario& scenario) override;
  [[nodiscard]] bool uses_up_process() const override { return false; }
};

}  // namespace ddpsim
