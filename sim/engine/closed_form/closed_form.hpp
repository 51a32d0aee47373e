#pragma once
// The contention-free equations, without an engine.
#include <memory>

#include "sim/engine/simulator.hpp"

namespace ddpsim {

// One communication lane, first in first out (docs/model.md, "Overlap"):
//   start_k = max(launch_k, end_(k-1)),  end_k = start_k + a(bytes_k)
class ClosedFormSimulator : public Simulator {
 public:
  ClosedFormSimulator();
  ~ClosedFormSimulator() override;
  ClosedFormSimulator(const ClosedFormSimulator&) = delete;
  ClosedFormSimulator& operator=(const ClosedFormSimulator&) = delete;

  Timeline run(const Scenario& scenario) override;
  std::vector<GroupCollectives> collectives(const Scenario& scenario) override;
  [[nodiscard]] std::int64_t simulated_flows() const override { return 0; }
  [[nodiscard]] bool uses_up_process() const override { return false; }

 private:
  struct Costs;
  std::unique_ptr<Costs> costs_;  // of the last scenario's communication: points of a sweep mostly share it
};

}  // namespace ddpsim
