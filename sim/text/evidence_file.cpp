#include "sim/text/evidence_file.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <optional>

#include <fmt/format.h>

#include "sim/keys/types.hpp"

namespace ddpsim::evidence_keys {
namespace {

using namespace keys;
using State = Unknown::State;

// Logarithms: beyond a hundred times as long nothing is a prediction.
constexpr double kFarthest = 4.6;
constexpr int kMostFamilies = 1000;

struct LineOfFile : Evidence::Line {
  double middle = 0;
  std::optional<double> sigma = {};
  std::string source = {};  // for people
};

Type<double> width() {
  return above_zero(number(0, kFarthest), "no sigma is 0: nothing is known exactly", "write one above 0");
}

void check_states(const std::vector<State>& states, const Value& list) {
  double chances = 0;
  for (const auto& state : states) chances += state.chance;
  if (std::abs(chances - 1) > 1e-6)
    throw InputError(list.span, fmt::format("the states' chances add up to {:g}", chances),
                     "one of them holds: 1 in all");
}

void check_line(const LineOfFile&, const Cursor& at) {
  if (at.has("states") == at.has("sigma"))
    throw InputError(at.place(),
                     fmt::format("a class says {}",
                                 at.has("sigma") ? "both sigma and states" : "neither sigma nor states"),
                     "write middle and sigma, or a list of states");
}

// Steps have an error of their own where compute is compared.
Type<LineOfFile> line_type(bool has_row) {
  auto middle = number(-kFarthest, kFarthest);
  auto chance = above_zero(number(0, 1), "a state has a chance", "leave it out, or write one above 0");
  auto state = nested(Rows<State>("states")
                          .needs<&State::chance>("chance", chance, "Of this state")
                          .needs<&State::middle>("middle", middle, "As of a class")
                          .needs<&State::sigma>("sigma", width(), "As of a class"));
  auto states = list(state, {2, "a state is one of several", "write middle and sigma without 'states'"});
  auto rows =
      Rows<LineOfFile>("evidence")
          .key<&LineOfFile::middle>("middle", middle, "Of the logarithms of measured / predicted")
          .key<&LineOfFile::sigma>("sigma", maybe(width()), "Their standard deviation between sources")
          .key<&LineOfFile::states>("states", checked<std::vector<State>>(states, check_states),
                                    "In place of both: one of several holds")
          .needs<&LineOfFile::families>("families", whole(0, kMostFamilies),
                                        "Independent sources; 0: declared")
          .key<&LineOfFile::source>("source", text(), "Of these figures, for people")
          .check(check_line);
  if (has_row) rows.key<&LineOfFile::row>("row", number(0, kFarthest), "What a step has of its own");
  return nested(rows);
}

using Line = std::optional<LineOfFile>;
struct EvidenceFile {
  std::string name = {};
  std::map<std::string_view, std::map<std::string_view, Line>> lines = {};  // by quantity and class
};

// A row for each class.
const Section& file_rows() {
  static const Section section = [] {
    Rows<EvidenceFile> rows("evidence");
    rows.kind("evidence").needs<&EvidenceFile::name>("name", text(), "Of this evidence");
    for (const auto& subject : kSubjectNames) {
      auto quantity = subject.first;
      auto of = subject.second;
      Rows<EvidenceFile> classes(quantity);
      for (const auto& one : kEvidenceClasses)
        if (one.of == of)
          classes.at<Line>(
              one.name, maybe(line_type(of == Subject::compute)),
              [quantity, &one](EvidenceFile& file) -> Line& { return file.lines[quantity][one.name]; },
              one.what);
      rows.whole(quantity, nested(classes), "What is known of it, by class");
    }
    return Section(rows);
  }();
  return section;
}

}  // namespace
}  // namespace ddpsim::evidence_keys

namespace ddpsim {

Evidence read_evidence(const std::string& path, Evidence known) {
  using namespace evidence_keys;
  auto file = keys::read_root<EvidenceFile>(evidence_keys::file_rows(), config::load_yaml(path, "evidence"));
  known.name = file.name;
  for (const auto& one : kEvidenceClasses)
    if (auto line = file.lines[name_in(kSubjectNames, one.of)][one.name]) {
      if (line->sigma) line->states = {{1, line->middle, *line->sigma}};
      std::ranges::sort(line->states, {}, &Unknown::State::middle);
      known.lines.insert_or_assign(name_of(one), *line);
    }
  return known;
}

}  // namespace ddpsim
