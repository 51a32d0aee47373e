#pragma once
// Measured all-reduce bandwidths beside predicted ones.
#include <string>
#include <utility>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/report/plot_canvas.hpp"

namespace ddpsim {

struct BandwidthSeries {
  std::string title;
  std::vector<std::pair<Bytes, BytesPerSecond>> measured, predicted;  // algbw by message size
};

// algbw over message size: points as measured, a line as predicted, in the colour of the series.
std::string bandwidth_plot_script(const std::vector<BandwidthSeries>& series, PlotFormat format);
// Draws it. Throws InputError unless `path` ends in .svg or .png, BackendMissing without gnuplot.
void write_bandwidth_plot(const std::vector<BandwidthSeries>& series, const std::string& path);

}  // namespace ddpsim
