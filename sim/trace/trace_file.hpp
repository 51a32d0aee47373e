#pragma once
// The layer-trace file (docs/reference/traces.md): reader and writer.
//
// Comment lines are "# key: value" with a known key, at most once each, or free text, kept as
// TraceMetadata::notes. Free text is a comment without a ':' or with blanks before its first ':'; a single
// unknown word before the ':' is an error, so that a misspelt key ("# foward: 3ms") is never mistaken for a
// remark.
#include <string>

#include "sim/base/source.hpp"
#include "sim/trace/layer_trace.hpp"

namespace ddpsim {

// Throws InputError with the place and a hint for anything that is not a valid layer trace.
LayerTrace read_trace(const std::string& path);
LayerTrace parse_trace(const LoadedText& text);

// The file's text; read_trace of it gives the same trace. Numbers are shortest round-trip decimals. Throws
// InputError when a text of the metadata cannot stand on one header line.
std::string write_trace(const LayerTrace& trace);

}  // namespace ddpsim
