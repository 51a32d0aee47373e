#pragma once
#include <functional>
#include <span>

#include "sim/study/prediction.hpp"
#include "sim/study/scenario_variant.hpp"

namespace ddpsim {

// Runs every scenario, at most `jobs` at once, and hands over the predictions in order, each as soon as it
// and all before it are known; on_lost in place of a prediction for which the machine had not enough memory
// or no process. The results do not depend on `jobs`.
void run_all(std::span<const ScenarioVariant> variants, unsigned jobs,
             const std::function<void(std::size_t, const Scenario&, Prediction)>& on_prediction,
             const OnLost& on_lost = throw_lost, const Simulate& simulate = Simulator());
void run_all(std::span<const Scenario> scenarios, unsigned jobs,
             const std::function<void(std::size_t, Prediction)>& on_prediction,
             const OnLost& on_lost = throw_lost, const Simulate& simulate = Simulator());

}  // namespace ddpsim
