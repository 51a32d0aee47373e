#pragma once
// What the user should know beside the results: on standard error, and under `notes` in JSON.
#include <span>
#include <vector>

#include "sim/base/note.hpp"
#include "sim/engine/scenario.hpp"
#include "sim/result/metrics.hpp"
#include "sim/result/sweep_result.hpp"
#include "sim/study/scenario_variant.hpp"

namespace ddpsim {

// What can be said of scenarios, and points that are variants of them, before they run, each code once: their
// own notes, use of measured tables, observed times that are too few, a trace of another GPU, a simulation of
// more than about half a minute.
std::vector<Note> notes_of(std::span<const Scenario> scenarios, std::span<const ScenarioVariant> points);

// How many measured iterations belong to none of these predictions; empty when all do.
std::vector<Note> unmatched_notes(const std::vector<MeasuredIteration>& measured,
                                  std::span<const IterationMetrics> predictions);

}  // namespace ddpsim
