#pragma once
// Reads recordings (docs/reference/traces.md, "Recordings"), plain or gzip.
#include <string>

#include "sim/trace/recording.hpp"

namespace ddpsim {

// Throws InputError with line and column.
Recording read_recording(const std::string& path);
// `text` as that of a file.
Recording read_recording(const LoadedText& text);

}  // namespace ddpsim
