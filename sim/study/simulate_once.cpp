#include "sim/study/simulate_once.hpp"

#include <fmt/core.h>

#include "sim/engine/broadcasts.hpp"
#include "sim/study/notes.hpp"
#include "sim/study/point_runs.hpp"

namespace ddpsim {

std::vector<Note> notes_before(const Scenario& scenario, std::span<const config::SweepAxis> left_out) {
  auto notes = notes_of({&scenario, 1}, unchanged({&scenario, 1}));
  for (const auto& axis : left_out)
    notes.push_back(
        {"sweep-left-out", fmt::format("the sweep over {} is left out; see 'ddpsim sweep'", axis.key)});
  return notes;
}

Simulated simulate_once(const Scenario& scenario, const Simulate& simulate, unsigned jobs,
                        std::size_t draws) {
  Simulated result;
  const ScenarioVariant variant{.base = &scenario, .draws = draws};
  run_points(
      {&variant, 1}, jobs,
      [&](std::size_t, const Prediction& prediction, IterationMetrics metrics) {
        result.prediction = prediction;
        result.metrics = std::move(metrics);
      },
      throw_lost, simulate);
  return result;
}

IterationMetrics shown_metrics(const Scenario& scenario, const IterationMetrics& metrics) {
  auto shown = metrics;
  shown.construction_broadcast = construction_broadcast(scenario);
  return shown;
}

std::optional<Note> memory_note(const IterationMetrics& metrics) {
  if (!metrics.memory || metrics.memory->fits()) return std::nullopt;
  return Note{"memory-exceeded", fit_line(*metrics.memory) + " ('ddpsim memory' says what would fit)"};
}

}  // namespace ddpsim
