#pragma once
#include <functional>
#include <span>
#include <string>

#include "sim/process/forked_workers.hpp"
#include "sim/result/study_row.hpp"
#include "sim/study/scenario_metrics.hpp"
#include "sim/study/scenario_variant.hpp"

namespace ddpsim {

// Predicts every scenario, at most `jobs` at once, and hands them over in order; the metrics say how sure
// they are. on_lost in place of one that the machine did not let end.
void run_points(std::span<const ScenarioVariant> points, unsigned jobs,
                const std::function<void(std::size_t, const Prediction&, IterationMetrics)>& on_point,
                const OnLost& on_lost = throw_lost, const Simulate& simulate = Simulator());

// The same to the end: what a point throws is its own failure, and the others go on. An EnvironmentError's
// message is without the hint, which stands in `hint`.
struct PointError {
  PointFailure who;
  std::string message, hint;
};
void run_every_point(std::span<const ScenarioVariant> points, unsigned jobs,
                     const std::function<void(std::size_t, const Prediction&, IterationMetrics)>& on_point,
                     const std::function<void(std::size_t, const PointError&)>& on_failed);

}  // namespace ddpsim
