#pragma once
// The comment lines at the top of a layer-trace file; only trace_file.cpp and trace_header.cpp use this.
#include <optional>
#include <string>
#include <string_view>

#include "sim/base/csv.hpp"
#include "sim/trace/layer_trace.hpp"

namespace ddpsim {

inline constexpr std::string_view kTraceFormat = "ddpsim-trace";
// Version 2 has the column forward_s. Traces without it are written as version 1.
inline constexpr int kNewestTraceVersion = 2;

struct TraceHeader {
  TraceMetadata metadata;
  std::optional<Seconds> forward, optimizer;
  std::vector<Bytes> buffers;
  std::optional<Located> gradients, elements;  // how many follow, as written: a file cut short has fewer
};

// Throws InputError for an unknown or doubled key, and a value that is not valid.
TraceHeader read_trace_header(const CsvTable& table);

// One comment line per key and note, with the counts of the trace's gradients and elements. Throws InputError
// when a text cannot stand on one line.
std::string write_trace_header(const LayerTrace& trace);

// Throws InputError where the header's counts are not those of the trace.
void check_counts(const TraceHeader& header, const LayerTrace& trace);

}  // namespace ddpsim
