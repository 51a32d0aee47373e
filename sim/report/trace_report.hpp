#pragma once
// What `ddpsim trace show` shows, as JSON or CSV (docs/reference/traces.md, "Layer trace").
#include <optional>
#include <string>
#include <vector>

#include "sim/base/note.hpp"
#include "sim/ddp/recorded_buckets.hpp"

namespace ddpsim {

struct TraceReport {
  std::string file;
  std::vector<Note> notes;
  std::optional<ReductionPlan> plan;  // none: its buckets were not asked for
  // Which caps give the buckets of recorded collectives; empty: none do.
  std::optional<std::vector<CapIntervals>> recorded_caps;
};

std::string trace_json(const LayerTrace& trace, const TraceReport& report);
// A row a bucket where there is a plan, else one a gradient, in order of arrival.
std::string trace_table_csv(const LayerTrace& trace, const TraceReport& report);

}  // namespace ddpsim
