#pragma once
// One scenario as `ddpsim simulate` and Python's Job.simulate() show it.
#include <optional>
#include <span>
#include <vector>

#include "sim/base/note.hpp"
#include "sim/config/sweep_axes.hpp"
#include "sim/study/scenario_metrics.hpp"

namespace ddpsim {

// What can be said before it is simulated; `left_out` are the axes of its sweep section.
std::vector<Note> notes_before(const Scenario& scenario, std::span<const config::SweepAxis> left_out);

struct Simulated {
  Prediction prediction;
  IterationMetrics metrics;
};
// `draws`: as of a ScenarioVariant.
Simulated simulate_once(const Scenario& scenario, const Simulate& simulate = Simulator(), unsigned jobs = 1,
                        std::size_t draws = 0);
// What `ddpsim simulate` and Python show of it: its metrics, and how long DDP's construction takes.
IterationMetrics shown_metrics(const Scenario& scenario, const IterationMetrics& metrics);

// Where it does not fit the GPU's memory.
std::optional<Note> memory_note(const IterationMetrics& metrics);

}  // namespace ddpsim
