#pragma once
// The commands of a bash script, with what its variables say put in, as far as the script itself says it.
// Nothing is run.
#include <string>
#include <vector>

#include "sim/base/source.hpp"

namespace ddpsim {

// A word as the command would get it.
struct ShellWord {
  std::string text;
  SourceSpan span;      // where its text stands, in a variable's value too
  std::string unknown;  // what of it only a running shell knows: "$DATA_PATH"; empty: nothing
};
using ShellCommand = std::vector<ShellWord>;

struct ShellScript {
  std::vector<ShellCommand> commands;  // in order; bodies of loops once, of functions where they are called
  std::vector<std::string> not_followed;  // "train.sh:12: case"
  std::vector<ShellWord> batch_options;   // of lines "#SBATCH"
};

// Variables, arrays, defaults (${A:-b}), arithmetic, quotes, continued lines, if, case, functions. What the
// script does not set is unknown, and empty in a condition. Throws InputError for quotes and brackets that
// nothing closes, and for more text than kMostShellText.
ShellScript read_shell_script(const LoadedText& text);

inline constexpr std::size_t kMostShellText = std::size_t{4} << 20;

}  // namespace ddpsim
