#pragma once
// A trace as a picture: how many bytes of gradients are ready when, and how many lie in complete buckets.
#include <string>

#include "sim/ddp/reduction_plan.hpp"
#include "sim/report/plot_canvas.hpp"

namespace ddpsim {

// Two stairs over the time of the backward pass, and a line at the moment at which each bucket is complete,
// with its number above. Of many buckets as many are numbered as there is room for.
std::string backward_plot_script(const LayerTrace& trace, const ReductionPlan& plan, PlotFormat format);
// Draws it. Throws InputError unless `path` ends in .svg or .png, BackendMissing without gnuplot.
void write_backward_plot(const LayerTrace& trace, const ReductionPlan& plan, const std::string& path);

}  // namespace ddpsim
