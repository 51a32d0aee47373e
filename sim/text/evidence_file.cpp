#include "sim/text/evidence_file.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <set>

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

// How a measured job moves with one class.
struct MoveOfFile {
  std::string of = {};
  std::vector<double> at = {};
  std::vector<Seconds> takes = {};
};
struct ObservationOfFile {
  std::string job = {};
  Seconds took = {}, predicted = {};
  double row = 0;
  std::vector<MoveOfFile> moves = {};
};

using Line = std::optional<LineOfFile>;
struct EvidenceFile {
  std::string name = {}, calibrated = {};
  std::map<std::string_view, std::map<std::string_view, Line>> lines = {};  // by quantity and class
  std::map<std::string_view, std::optional<double>> found = {};             // of networks
  std::vector<ObservationOfFile> measured = {};
};

void check_move(const MoveOfFile& move, const Cursor& at) {
  const auto* of = find_evidence_class(move.of);
  if (!of || of->of == Subject::choice)
    throw InputError(at.place("class"), fmt::format("no class of evidence is called '{}'", move.of),
                     "write its quantity and its name: compute same_gpu");
  bool rises = std::ranges::adjacent_find(move.at, std::greater_equal{}) == move.at.end();
  if (move.at.size() < 2 || move.at.size() != move.takes.size() || !rises)
    throw InputError(at.place(), "what a job takes is said at two values or more, which rise",
                     "write as many times as values: at: [1, 1.1], takes: [2s, 2.2s]");
}

void check_moves(const std::vector<MoveOfFile>& moves, const Value& list) {
  std::set<std::string_view> names;
  for (const auto& move : moves)
    if (!names.insert(move.of).second)
      throw InputError(list.span, fmt::format("'{}' moves the job twice", move.of), "leave one of them out");
}

Type<std::vector<ObservationOfFile>> measured_type() {
  auto positive_time = time(AtZero::refused);
  auto value = number(0, 1e6);
  auto move = nested(Rows<MoveOfFile>("moves")
                         .needs<&MoveOfFile::of>("class", text(), "Quantity and class: compute same_gpu")
                         .needs<&MoveOfFile::at>("at", list(value), "Its values: factors, or levels")
                         .needs<&MoveOfFile::takes>("takes", list(positive_time), "The job, at each")
                         .check(check_move));
  return list(nested(
      Rows<ObservationOfFile>("measured")
          .needs<&ObservationOfFile::job>("job", text(), "Which it was, for people")
          .needs<&ObservationOfFile::took>("took", positive_time, "Its step, measured")
          .needs<&ObservationOfFile::predicted>("predicted", positive_time, "Its step")
          .needs<&ObservationOfFile::row>("row", width(), "What the measurement has of its own")
          .key<&ObservationOfFile::moves>("moves", checked<std::vector<MoveOfFile>>(list(move), check_moves),
                                          "How it moves with each class")));
}

Type<std::string> class_of_compute() {
  config::Words<std::string> words;
  for (const auto& one : kEvidenceClasses)
    if (one.of == Subject::compute) words.emplace_back(std::string(one.name), std::string(one.name));
  return word(words);
}

// What calibrations write.
void add_measured_rows(Rows<EvidenceFile>& rows) {
  rows.key<&EvidenceFile::calibrated>("calibrated", class_of_compute(), "Compute, before it was calibrated");
  Rows<EvidenceFile> networks("found");
  for (const auto& one : kEvidenceClasses)
    if (one.of == Subject::network)
      networks.at<std::optional<double>>(
          one.name, maybe(above_zero(number(0, 100), "no time is 0", "write a factor above 0")),
          [&one](EvidenceFile& file) -> std::optional<double>& { return file.found[one.name]; }, one.what);
  rows.whole("found", nested(networks), "Times as long as described, of a network's collectives");
  rows.key<&EvidenceFile::measured>("measured", measured_type(), "Jobs whose step was measured");
}

// A row for each class.
void add_class_rows(Rows<EvidenceFile>& rows) {
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
}

const Section& file_rows() {
  static const Section section = [] {
    Rows<EvidenceFile> rows("evidence");
    rows.kind("evidence").needs<&EvidenceFile::name>("name", text(), "Of this evidence");
    add_class_rows(rows);
    add_measured_rows(rows);
    return Section(rows);
  }();
  return section;
}

const Section& section_rows() {
  static const Section section = [] {
    Rows<EvidenceFile> rows("evidence");
    add_measured_rows(rows);
    add_class_rows(rows);
    return Section(rows);
  }();
  return section;
}

Observation observation_of(const ObservationOfFile& file) {
  Observation made{file.job, file.took, file.row, {file.predicted}};
  for (const auto& move : file.moves)
    for (std::size_t i = 0; i < move.at.size(); ++i)
      made.response.curves[move.of].points.push_back({move.at[i], move.takes[i]});
  return made;
}

ObservationOfFile file_of(const Observation& made) {
  ObservationOfFile file{made.of, made.took, made.response.base, made.row};
  for (const auto& [name, curve] : made.response.curves) {
    auto& move = file.moves.emplace_back(MoveOfFile{name});
    for (const auto& [value, takes] : curve.points) {
      move.at.push_back(value);
      move.takes.push_back(takes);
    }
  }
  return file;
}

Evidence with(EvidenceFile& file, Evidence known) {
  for (const auto& one : kEvidenceClasses)
    if (auto line = file.lines[name_in(kSubjectNames, one.of)][one.name]) {
      if (line->sigma) line->states = {{1, line->middle, *line->sigma}};
      std::ranges::sort(line->states, {}, &Unknown::State::middle);
      known.lines.insert_or_assign(name_of(one), *line);
    }
  for (const auto& one : kEvidenceClasses)
    if (auto value = one.of == Subject::network ? file.found[one.name] : std::nullopt)
      known.set_found(one, *value);
  if (!file.calibrated.empty()) {
    known.calibrated = file.calibrated;
    // Steps of one job and its like differ by less than those of a class.
    const auto* of = find_evidence_class(Subject::compute, file.calibrated);
    double row = known.calibrated_row(*of);
    if (auto line = known.lines.find(name_of(*of)); line != known.lines.end()) line->second.row = row;
  }
  // A step that several calibrations know is one.
  for (const auto& one : file.measured)
    if (std::ranges::none_of(known.measured, [&](const Observation& before) {
          return before.of == one.job && before.took == one.took;
        }))
      known.measured.push_back(observation_of(one));
  return known;
}

}  // namespace
}  // namespace ddpsim::evidence_keys

namespace ddpsim {

Evidence read_evidence(const std::string& path, Evidence known) {
  using namespace evidence_keys;
  auto file = keys::read_root<EvidenceFile>(evidence_keys::file_rows(), config::load_yaml(path, "evidence"));
  known.name = file.name;
  return with(file, std::move(known));
}

Evidence read_evidence_section(const config::Value& section, Evidence known) {
  using namespace evidence_keys;
  EvidenceFile file;
  keys::Places places;
  keys::read_section(section_rows(), section, &file, {places});
  return with(file, std::move(known));
}

std::string write_evidence_section(const Evidence& measured, std::string_view indent) {
  using namespace evidence_keys;
  EvidenceFile file;
  file.calibrated = measured.calibrated;
  for (const auto& one : kEvidenceClasses)
    if (auto found = measured.found.find(name_of(one)); found != measured.found.end())
      file.found[one.name] = found->second;
  for (const auto& one : measured.measured) file.measured.push_back(file_of(one));
  auto rows = section_rows();
  std::erase_if(rows.rows, [&](const Row& row) {
    bool is_subject =
        std::ranges::count(kSubjectNames, row.name, &std::pair<std::string_view, Subject>::first) > 0;
    return is_subject || (row.name == "found" && measured.found.empty()) ||
           (row.name == "calibrated" && measured.calibrated.empty());
  });
  return keys::lines_of(rows, &file, indent);
}

}  // namespace ddpsim
