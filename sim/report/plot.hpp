#pragma once
// A sweep as a picture, drawn by gnuplot.
#include <stdexcept>
#include <string>

#include "sim/process/external_program.hpp"
#include "sim/report/plot_canvas.hpp"
#include "sim/report/sweep_result.hpp"

namespace ddpsim {

// By how `path` ends. Throws InputError unless in .svg or .png.
PlotFormat plot_format(const std::string& path);

// Draws the plots: their script on standard input.
ExternalProgram gnuplot();

// Throws InputError unless `path` ends in .svg or .png, BackendMissing without gnuplot.
void check_plot_path(const std::string& path);

// The gnuplot script of that picture; it draws to standard output. Along ddp.bucket_cap, or else along an
// axis of numbers, one line for each group of the other axes; otherwise one stacked bar a point. Throws
// InputError unless `output_path` ends in .svg or .png.
std::string sweep_plot_script(const SweepResult& result, const std::string& output_path);

// Draws it. Throws BackendMissing without gnuplot, InternalError when gnuplot refuses the script.
void write_sweep_plot(const SweepResult& result, const std::string& path);

// One stacked bar a point, whatever the axes.
void write_bar_plot(const SweepResult& result, const std::string& path);

}  // namespace ddpsim
