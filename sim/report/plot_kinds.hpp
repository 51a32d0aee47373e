#pragma once
// The two pictures of a sweep, as gnuplot scripts.
#include <string>

#include "sim/report/plot_canvas.hpp"
#include "sim/report/sweep_result.hpp"

namespace ddpsim {

// The axis for line_plot_script: ddp.bucket_cap, else the first axis of two or more different positive
// numbers.
std::optional<std::size_t> line_axis(const SweepResult& result);

// Iteration time along an axis on a logarithmic scale, one line a group of the other axes. Along
// ddp.bucket_cap the best point of each group is marked; a group without caps is a level.
std::string line_plot_script(const SweepResult& result, std::size_t axis, PlotFormat format);

// One bar a point: what adds up to its iteration.
std::string bar_plot_script(const SweepResult& result, PlotFormat format);

}  // namespace ddpsim
