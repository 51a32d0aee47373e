#pragma once
// The comment lines at the top of a layer-trace file; only trace_file.cpp and trace_header.cpp use this.
#include <optional>
#include <string>
#include <string_view>

#include "sim/base/csv.hpp"
#include "sim/trace/layer_trace.hpp"

namespace ddpsim {

inline constexpr std::string_view kTraceFormat = "ddpsim-trace";  // version 1

struct TraceHeader {
  TraceMetadata metadata;
  std::optional<Seconds> forward, optimizer;
};

// Throws InputError for an unknown or doubled key, and a value that is not valid.
TraceHeader read_trace_header(const CsvTable& table);

// One comment line a key and note. Throws InputError when a text cannot stand on one line.
std::string write_trace_header(const TraceHeader& header);

}  // namespace ddpsim
