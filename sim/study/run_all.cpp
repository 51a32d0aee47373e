#include "sim/study/run_all.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "sim/replay/network.hpp"

namespace ddpsim {

void run_all(std::span<const ScenarioVariant> variants, unsigned jobs,
             const std::function<void(std::size_t, const Scenario&, Prediction)>& on_prediction,
             const OnLost& on_lost, const Simulate& simulate) {
  // The last one made: in this process the prediction follows at once.
  std::optional<std::pair<std::size_t, Scenario>> made;
  auto scenario = [&](std::size_t i) -> const Scenario& {
    if (!made || made->first != i) made.emplace(i, variants[i].scenario());
    return made->second;
  };
  bool in_children = std::any_of(variants.begin(), variants.end(), [](const ScenarioVariant& variant) {
    return variant.base->uses_up_process();
  });
  if (in_children) load_simgrid();  // once, and not in every child
  unsigned jobs_each = variants.size() == 1 ? jobs : 1;
  predict_each(
      variants.size(), jobs, in_children,
      [&](std::size_t i) { return predict(scenario(i), simulate, jobs_each); },
      [&](std::size_t i, Prediction prediction) { on_prediction(i, scenario(i), std::move(prediction)); },
      on_lost);
}

void run_all(std::span<const Scenario> scenarios, unsigned jobs,
             const std::function<void(std::size_t, Prediction)>& on_prediction, const OnLost& on_lost,
             const Simulate& simulate) {
  run_all(
      unchanged(scenarios), jobs,
      [&](std::size_t i, const Scenario&, Prediction prediction) { on_prediction(i, std::move(prediction)); },
      on_lost, simulate);
}

}  // namespace ddpsim
