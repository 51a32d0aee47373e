#pragma once
#include <optional>

#include "sim/engine/scenario.hpp"

namespace ddpsim {

// How long DDP's broadcasts of parameters and buffers take when it is constructed, one after the other, in
// the group where that is longest; none for other strategies.
std::optional<Seconds> construction_broadcast(const Scenario& scenario);

}  // namespace ddpsim
