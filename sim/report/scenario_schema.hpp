#pragma once
#include <string>

#include "sim/keys/table.hpp"

namespace ddpsim {

// JSON schema (draft 7) of files with the keys of `table`, one of which may be `sweep`, whose axes are all
// the others.
std::string scenario_schema(const keys::Section& table);

}  // namespace ddpsim
