#pragma once
#include <functional>
#include <span>

#include "sim/engine/scenario.hpp"
#include "sim/timeline/timeline.hpp"

namespace ddpsim {

// Predicts one iteration. Throws InternalError when a collective never ends.
class Simulator {
 public:
  virtual ~Simulator() = default;
  // May use up this process's only SimGrid engine: call it through run_all, which gives each scenario a
  // process of its own.
  virtual Timeline run(const Scenario& scenario) = 0;
};

// Runs every scenario in a process of its own, at most `jobs` at once, and hands over the timelines in order,
// each as soon as it and all before it are known. The results do not depend on `jobs`.
void run_all(std::span<const Scenario> scenarios, unsigned jobs,
             const std::function<Simulator&(const Scenario&)>& simulator_for,
             const std::function<void(std::size_t, Timeline)>& on_timeline);

}  // namespace ddpsim
