#include "validate/harness/step.hpp"

#include <algorithm>

namespace ddpsim::validate {

std::size_t Step::collectives() const {
  return static_cast<std::size_t>(std::count_if(actions.begin(), actions.end(), [](const Action& action) {
    return action.kind == Action::Kind::all_reduce;
  }));
}

std::size_t Job::elements() const {
  std::size_t elements = 0;
  for (const auto& step : steps)
    for (const auto& action : step.actions)
      if (!step.reduction) elements = std::max(elements, action.range.first + action.range.count);
  return elements;
}

}  // namespace ddpsim::validate
