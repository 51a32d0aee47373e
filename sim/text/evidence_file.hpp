#pragma once
#include <string>
#include <string_view>

#include "sim/config/value.hpp"
#include "sim/evidence/evidence.hpp"

namespace ddpsim {

// A file of evidence/ (docs/reference/measured.md, "Evidence"); what it says replaces what `known` says.
// Throws InputError.
Evidence read_evidence(const std::string& path, Evidence known = {});
// The same of the section `evidence` of a file, which has no kind and no name.
Evidence read_evidence_section(const config::Value& section, Evidence known);
// What `measured` says, as such a section's lines.
std::string write_evidence_section(const Evidence& measured, std::string_view indent);

}  // namespace ddpsim
