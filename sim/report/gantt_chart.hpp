#pragma once
// One step as a Gantt chart: what computes and what communicates, and when.
#include <string>

#include "sim/report/chart.hpp"
#include "sim/report/metrics.hpp"

namespace ddpsim {

// A lane of compute and one for each collective at once, of every class of ranks that do the same: as many
// classes as there is room for, the last to finish among them. Collectives have their bucket's number where
// there is room. `name` is the scenario's.
Chart gantt_chart(const Timeline& timeline, const IterationMetrics& metrics, const std::string& name);

}  // namespace ddpsim
