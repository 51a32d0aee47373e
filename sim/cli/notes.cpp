#include "sim/cli/notes.hpp"

#include "sim/base/standard_error.hpp"

namespace ddpsim::cli {

void print_notes(std::span<const Note> notes) {
  for (const auto& note : notes) print_stderr("note: {}\n", note.text);
}

}  // namespace ddpsim::cli
