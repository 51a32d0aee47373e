#pragma once
// Many iterations of a scenario in which ranks are not always as fast (docs/model.md, "Iterations that
// differ").
#include "sim/engine/simulator.hpp"

namespace ddpsim {

struct Prediction {
  Timeline timeline;  // where iterations differ: of the reported one
  // Where iterations differ: how long each takes, in the order of their draws, and how long all would take if
  // nothing varied.
  std::vector<Seconds> iterations = {};
  Seconds unvaried = {};
  std::int64_t simulated_flows = 0;  // that a network carried for it
};

Prediction predict(const Scenario& scenario, Simulator& simulator);

}  // namespace ddpsim
