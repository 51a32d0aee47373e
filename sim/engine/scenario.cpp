#include "sim/engine/scenario.hpp"

#include <algorithm>

namespace ddpsim {

std::string_view fidelity_name(Fidelity fidelity) {
  switch (fidelity) {
    case Fidelity::closed_form:
      return "closed_form";
    case Fidelity::exact:
      return "exact";
    case Fidelity::folded:
      return "folded";
    case Fidelity::fluid:
      return "fluid";
  }
  return "?";
}

const RankClass& Scenario::slowest_class() const {
  return *std::max_element(rank_classes.begin(), rank_classes.end(),
                           [](const auto& a, const auto& b) { return a.slowdown < b.slowdown; });
}

}  // namespace ddpsim
