#pragma once
// A timeline in the trace-event format that Perfetto (ui.perfetto.dev) and chrome://tracing open.
#include <string>

#include "sim/result/metrics.hpp"

namespace ddpsim {

// One process a class of equal ranks with a compute and a communication thread. Microseconds, to the
// nanosecond; the earliest span starts at 0.
std::string chrome_timeline_json(const Timeline& timeline, const IterationContext& context);

}  // namespace ddpsim
