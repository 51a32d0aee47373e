#include "sim/study/run_all.hpp"

#include <algorithm>

#include "sim/replay/network.hpp"

namespace ddpsim {

void run_all(std::span<const ScenarioVariant> variants, unsigned jobs,
             const std::function<void(std::size_t, Prediction)>& on_prediction, const OnLost& on_lost,
             const Simulate& simulate) {
  bool in_children = std::any_of(variants.begin(), variants.end(), [](const ScenarioVariant& variant) {
    return variant.base->uses_up_process();
  });
  if (in_children) load_simgrid();  // once, and not in every child
  unsigned jobs_each = variants.size() == 1 ? jobs : 1;
  predict_each(
      variants.size(), jobs, in_children,
      [&](std::size_t i) { return predict(variants[i].scenario(), simulate, jobs_each); }, on_prediction,
      on_lost);
}

void run_all(std::span<const Scenario> scenarios, unsigned jobs,
             const std::function<void(std::size_t, Prediction)>& on_prediction, const OnLost& on_lost,
             const Simulate& simulate) {
  run_all(unchanged(scenarios), jobs, on_prediction, on_lost, simulate);
}

}  // namespace ddpsim
