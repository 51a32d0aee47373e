#include "sim/evidence/evidence.hpp"

#include <algorithm>
#include <cmath>

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

double Evidence::Line::middle() const {
  double sum = 0;
  for (const auto& state : states) sum += state.chance * state.middle;
  return sum;
}

double Evidence::Line::sigma() const {
  double square = 0;
  for (const auto& state : states)
    square += state.chance * (state.middle * state.middle + state.sigma * state.sigma);
  return std::sqrt(square - middle() * middle());
}

Unknown unknown_of(const EvidenceClass& of, const Evidence::Line& line) {
  bool is_level = of.moves == Moves::interference || of.moves == Moves::spread;
  return {.name = name_of(of),
          .states = line.states,
          .kind = is_level ? Unknown::Kind::level : Unknown::Kind::factor,
          .families = line.families};
}

}  // namespace ddpsim
