#pragma once
#include <span>
#include <string>

#include "sim/base/scenario_key.hpp"

namespace ddpsim {

// A JSON schema (draft-07, which editors know) of a scenario with these keys.
std::string scenario_schema(std::span<const ScenarioKey> keys);

}  // namespace ddpsim
