#pragma once
#include <vector>

#include "sim/base/scenario_key.hpp"

namespace ddpsim {

// Every key of a scenario, a section before what is in it. tests/cli/schema_test.py holds them against what
// the readers of the sections accept.
std::vector<ScenarioKey> scenario_keys();

}  // namespace ddpsim
