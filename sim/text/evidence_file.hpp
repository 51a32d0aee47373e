#pragma once
#include <string>

#include "sim/evidence/evidence.hpp"

namespace ddpsim {

// A file of evidence/ (docs/formats.md, "Evidence"); what it says replaces what `known` says. Throws
// InputError.
Evidence read_evidence(const std::string& path, Evidence known = {});

}  // namespace ddpsim
