#include "sim/evidence/evidence.hpp"

#include <algorithm>
#include <cmath>

namespace ddpsim {
namespace {

bool is_level(const EvidenceClass& of) {
  return of.moves == Moves::interference || of.moves == Moves::spread;
}

}  // namespace

const EvidenceClass* find_evidence_class(Subject of, std::string_view name) {
  const auto* found = std::ranges::find_if(
      kEvidenceClasses, [&](const EvidenceClass& one) { return one.of == of && one.name == name; });
  return found == kEvidenceClasses.end() ? nullptr : found;
}

const EvidenceClass* find_evidence_class(std::string_view name) {
  const auto* found =
      std::ranges::find_if(kEvidenceClasses, [&](const EvidenceClass& one) { return name_of(one) == name; });
  return found == kEvidenceClasses.end() ? nullptr : found;
}

std::string name_of(const EvidenceClass& of) {
  return std::string(name_in(kSubjectNames, of.of)) + " " + std::string(of.name);
}

bool Observation::moves_with(const EvidenceClass& one) const {
  return response.curves.contains(name_of(one));
}

const Evidence::Line* Evidence::find(const EvidenceClass& of) const {
  auto line = lines.find(name_of(of));
  return line == lines.end() ? nullptr : &line->second;
}

double Evidence::calibrated_row(const EvidenceClass& of) const {
  const auto* one_step = find(*find_evidence_class(Subject::compute, "calibrated"));
  const auto* line = find(of);
  constexpr double kUsual = 0.05;
  if (!line) return 0;
  double row = one_step && one_step->row > 0 ? one_step->row : kUsual;
  return line->row > 0 ? std::min(row, line->row) : row;
}

void Evidence::set_found(const EvidenceClass& of, double value) {
  found.insert_or_assign(name_of(of), value);
  auto line = lines.find(name_of(of));
  if (line == lines.end()) return;
  double middle = is_level(of) ? value : std::log(value);
  auto away = [&](const Unknown::State& state) { return std::abs(state.middle - middle); };
  auto nearest = *std::ranges::min_element(line->second.states, {}, away);
  line->second.states = {{1, middle, nearest.sigma}};
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
  return {.name = name_of(of),
          .states = line.states,
          .kind = is_level(of) ? Unknown::Kind::level : Unknown::Kind::factor,
          .families = line.families};
}

}  // namespace ddpsim
