#include "sim/replay/fidelity.hpp"

namespace ddpsim {

std::string_view fidelity_name(Fidelity fidelity) {
  switch (fidelity) {
    case Fidelity::closed_form:
      return "closed_form";
    case Fidelity::exact:
      return "exact";
    case Fidelity::folded:
      return "folded";
    case Fidelity::lazy:
      return "lazy";
    case Fidelity::fluid:
      return "fluid";
  }
  return "?";
}

}  // namespace ddpsim
