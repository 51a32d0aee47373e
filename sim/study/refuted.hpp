#pragma once
// A measured step that nothing of what is known of its scenario gives.
#include <vector>

#include "sim/base/source.hpp"
#include "sim/engine/scenario.hpp"

namespace ddpsim {

// Of its compute; null: none is in doubt.
const Doubt* compute_doubt(const Scenario& scenario);

// `draws`: what the scenario takes in each of them, none of them near what was measured.
InputError refuted(const Scenario& scenario, Seconds measured, std::vector<Seconds> draws);

}  // namespace ddpsim
