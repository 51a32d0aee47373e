#pragma once
// Programs as text (docs/reference/traces.md, "Programs"): what a strategy does, written by hand, by `ddpsim
// program`, or by whoever recorded a step.
#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <variant>
#include <vector>

#include "sim/base/source.hpp"
#include "sim/program/program.hpp"

namespace ddpsim {

// Whom a communicator joins: the groups along an axis of the job, or all ranks in groups of so many, so far
// apart.
struct RankSets {
  std::string axis = "data";  // empty: `size` says it
  int size = 0, stride = 1;
  bool operator==(const RankSets&) const = default;
};
// What ops do on a communicator, and the first of them.
struct WrittenUse {
  Activity activity{};
  Operation operation{};
  SourceSpan place;
};
struct WrittenCommunicator {
  std::string name;
  RankSets ranks;
  std::vector<WrittenUse> uses = {};  // each kind once
  SourceSpan place = {};
  bool operator==(const WrittenCommunicator& other) const {
    return name == other.name && ranks == other.ranks;
  }
};

// What ranks of a class do; a text without a heading has one class without a name.
struct WrittenClass {
  std::string name;
  Program program;                                      // its communicators are all classes', then its own
  std::vector<WrittenCommunicator> communicators = {};  // its own
  std::vector<SourceSpan> places = {};                  // by op: where its line stands
  bool operator==(const WrittenClass& other) const {
    return name == other.name && program == other.program && communicators == other.communicators;
  }
};
struct WrittenProgram {
  int micro_batches = 1;                           // that it is written for, unless it names them
  std::vector<WrittenCommunicator> communicators;  // of all classes
  std::vector<WrittenClass> classes;
  std::set<std::string, std::less<>> named = {};  // the counts that its text names
  bool operator==(const WrittenProgram& other) const {
    return micro_batches == other.micro_batches && communicators == other.communicators &&
           classes == other.classes;
  }
};

// What a text may name besides numbers: times and sizes ("block.3.forward"), and counts ("blocks").
struct ProgramSymbols {
  std::map<std::string, std::variant<Seconds, Bytes>, std::less<>> values;
  std::map<std::string, std::int64_t, std::less<>> counts;
  // Of what `copy` takes; none: it takes no time.
  std::optional<BytesPerSecond> copy_bandwidth;
  Seconds copy_launch;
};

// What does not depend on the model: the communicators, with what is done on them. Throw InputError with
// place and hint.
std::vector<WrittenCommunicator> read_communicators(const LoadedText& text);
WrittenProgram read_program(const LoadedText& text, const ProgramSymbols& symbols);

// read_program() of it is the same program.
std::string write_program(const WrittenProgram& written);

}  // namespace ddpsim
