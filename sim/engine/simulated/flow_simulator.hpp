#pragma once
#include <functional>
#include <memory>

#include "sim/engine/simulator.hpp"
#include "sim/replay/network.hpp"

namespace ddpsim {

// Discrete-event simulation of flows on a network, with the executor the scenario's fidelity names (exact,
// folded, lazy or fluid).
class FlowSimulator : public Simulator {
 public:
  using MakeNetwork = std::function<std::unique_ptr<Network>(Bytes largest)>;
  FlowSimulator(MakeNetwork make, bool one_a_process)
      : make_(std::move(make)), one_a_process_(one_a_process) {}

  Timeline run(const Scenario& scenario) override;
  std::vector<GroupCollectives> collectives(const Scenario& scenario) override;
  [[nodiscard]] std::int64_t simulated_flows() const override { return flows_; }
  [[nodiscard]] bool uses_up_process() const override { return one_a_process_; }

 private:
  MakeNetwork make_;
  bool one_a_process_;
  std::int64_t flows_ = 0;
};

// Loads SimGrid where it is asked for: EnvironmentError where it is not found.
FlowSimulator& flow_simulator(SharedNetwork network);

}  // namespace ddpsim
