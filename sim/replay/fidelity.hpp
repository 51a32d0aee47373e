#pragma once
#include "sim/base/names.hpp"

namespace ddpsim {

// How collectives are carried out: by the time each takes alone, or flow by flow on a network, in one of the
// ways of sim/replay/executors.hpp (exact: on the unfolded plan).
enum class Fidelity { closed_form, exact, folded, lazy, fluid };
inline constexpr Names<Fidelity, 5> kFidelityNames{{{"closed_form", Fidelity::closed_form},
                                                    {"exact", Fidelity::exact},
                                                    {"folded", Fidelity::folded},
                                                    {"lazy", Fidelity::lazy},
                                                    {"fluid", Fidelity::fluid}}};

inline std::string_view fidelity_name(Fidelity fidelity) {
  return name_in(kFidelityNames, fidelity);
}

}  // namespace ddpsim
