#pragma once
// What is predicted of a scenario: an iteration, or many where ranks are not always as fast (docs/model.md,
// "Iterations that differ").
#include <cstdint>
#include <functional>
#include <vector>

#include "sim/engine/simulator.hpp"
#include "sim/process/forked_workers.hpp"

namespace ddpsim {

struct Prediction {
  Timeline timeline;  // where iterations differ: of the reported one
  // Where iterations differ: how long each takes, in the order of their draws, and how long all would take if
  // nothing varied.
  std::vector<Seconds> iterations = {};
  Seconds unvaried = {};
  std::int64_t simulated_flows = 0;  // that a network carried for it
};

using Simulate = std::function<SimulatedIteration(const Scenario&)>;

// `jobs`: how many iterations may be simulated at once, where each needs a process.
Prediction predict(const Scenario& scenario, const Simulate& simulate, unsigned jobs);

// Calls task(i) for i in [0, n), in children where `in_children` (at most `jobs` at a time), and hands over
// what they predict in order; on_lost in place of one for which the machine had not enough memory or no
// process.
void predict_each(std::size_t n, unsigned jobs, bool in_children,
                  const std::function<Prediction(std::size_t)>& task,
                  const std::function<void(std::size_t, Prediction)>& on_prediction, const OnLost& on_lost);

}  // namespace ddpsim
