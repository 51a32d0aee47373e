#pragma once
#include <string_view>

namespace ddpsim {

// How collectives are carried out: by the time each takes alone, or flow by flow on a network, in one of the
// ways of sim/replay/executors.hpp (exact: on the unfolded plan).
enum class Fidelity { closed_form, exact, folded, lazy, fluid };
std::string_view fidelity_name(Fidelity fidelity);

}  // namespace ddpsim
