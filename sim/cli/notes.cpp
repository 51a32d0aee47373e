#include "sim/cli/notes.hpp"

#include "sim/base/standard_error.hpp"
#include "sim/base/terminal.hpp"

namespace ddpsim::cli {

void print_notes(std::span<const Note> notes) {
  for (const auto& note : notes)
    write_stderr(standard_error().wrapped("note: " + note.text, Look::dim, 6) + "\n");
}

}  // namespace ddpsim::cli
