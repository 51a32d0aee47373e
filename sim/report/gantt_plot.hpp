#pragma once
// One step as a Gantt chart: what computes and what communicates, and when.
#include <string>

#include "sim/report/metrics.hpp"
#include "sim/report/plot_canvas.hpp"

namespace ddpsim {

// A lane of compute and one for each collective at once, of every class of ranks that do the same: as many
// classes as there is room for, the last to finish among them. Collectives have their bucket's number where
// there is room. `name` is the scenario's.
std::string gantt_plot_script(const Timeline& timeline, const IterationMetrics& metrics,
                              const std::string& name, PlotFormat format);
// Draws it. Throws InputError unless `path` ends in .svg or .png, BackendMissing without gnuplot.
void write_gantt_plot(const Timeline& timeline, const IterationMetrics& metrics, const std::string& name,
                      const std::string& path);

}  // namespace ddpsim
