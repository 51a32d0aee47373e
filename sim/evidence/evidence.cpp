#include "sim/evidence/evidence.hpp"

#include <algorithm>

namespace ddpsim {

const EvidenceClass* find_evidence_class(Subject of, std::string_view name) {
  const auto* found = std::ranges::find_if(
      kEvidenceClasses, [&](const EvidenceClass& one) { return one.of == of && one.name == name; });
  return found == kEvidenceClasses.end() ? nullptr : found;
}

std::string name_of(const EvidenceClass& of) {
  return std::string(name_in(kSubjectNames, of.of)) + " " + std::string(of.name);
}

const Evidence::Line* Evidence::find(const EvidenceClass& of) const {
  auto found = lines.find(name_of(of));
  return found == lines.end() ? nullptr : &found->second;
}

Unknown unknown_of(const EvidenceClass& of, const Evidence::Line& line) {
  bool is_level = of.of == Subject::physics && of.name != "launches";
  return {.name = name_of(of),
          .states = line.states,
          .kind = is_level ? Unknown::Kind::level : Unknown::Kind::factor,
          .families = line.families};
}

}  // namespace ddpsim
