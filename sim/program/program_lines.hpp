#pragma once
// The lines of a program's text as words, and its loops.
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "sim/base/source.hpp"

namespace ddpsim {

// Without its comment. `:`, `*` and `/` are words of their own.
struct ProgramLine {
  std::vector<Located> words;
  SourceSpan end;  // behind its last word
};
std::vector<ProgramLine> program_lines(const LoadedText& text);

// The value of a name in braces, but for loops' variables; none: there is none of that name.
using BraceValue = std::function<std::optional<std::int64_t>(const std::string& name)>;

// Calls `see` with each line in turn, loops written out and `{i+1}` replaced. Throws InputError for braces
// and loops that mean nothing, and for more than `kMostProgramOps` lines.
void each_program_line(const std::vector<ProgramLine>& lines, const BraceValue& value,
                       const std::function<void(const ProgramLine&)>& see);

}  // namespace ddpsim
