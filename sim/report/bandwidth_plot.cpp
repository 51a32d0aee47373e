#include "sim/report/bandwidth_plot.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/check.hpp"
#include "sim/base/output_file.hpp"
#include "sim/base/quantity.hpp"
#include "sim/report/plot.hpp"

namespace ddpsim {
namespace {

using Points = std::vector<std::pair<Bytes, BytesPerSecond>>;

struct Ranges {
  double smallest = 0, largest = 0, widest = 0;  // bytes, bytes, GB/s
};

Ranges ranges_of(const std::vector<BandwidthSeries>& series) {
  Ranges ranges;
  for (const auto& one : series)
    for (const auto* points : {&one.measured, &one.predicted})
      for (auto [bytes, bandwidth] : *points) {
        ranges.smallest = ranges.smallest == 0 ? bytes.value() : std::min(ranges.smallest, bytes.value());
        ranges.largest = std::max(ranges.largest, bytes.value());
        ranges.widest = std::max(ranges.widest, bandwidth.value() / 1e9);
      }
  DDPSIM_CHECK(ranges.smallest > 0, "there is something to plot");
  return ranges;
}

std::vector<AxisTic> size_tics(const PlotAxis& axis) {
  std::vector<AxisTic> tics;
  double first = std::ceil(std::log2(axis.lowest)), last = std::floor(std::log2(axis.highest));
  double step = 1 + std::floor((last - first) / 11);
  for (double power = first; power <= last; power += step)
    tics.push_back({std::exp2(power), format_bytes(Bytes(std::exp2(power)))});
  return without_crowding(axis, tics);
}

std::string data_block(const std::string& name, const Points& points) {
  auto out = fmt::format("${} << EOD\n", name);
  for (auto [bytes, bandwidth] : points)
    out += fmt::format("{:.17g} {:.6g}\n", bytes.value(), bandwidth.value() / 1e9);
  return out + "EOD\n";
}

}  // namespace

std::string bandwidth_plot_script(const std::vector<BandwidthSeries>& series, PlotFormat format) {
  auto ranges = ranges_of(series);
  Margins margins;
  std::vector<std::string> titles, parts;
  std::string data;
  for (std::size_t i = 0; i < series.size(); ++i) {
    const auto& one = series[i];
    auto colour = group_colour(i);
    titles.push_back(one.title);
    data += data_block(fmt::format("measured{}", i), one.measured) +
            data_block(fmt::format("predicted{}", i), one.predicted);
    parts.push_back(
        fmt::format("$predicted{} using 1:2 with lines linewidth 2 dashtype {} linecolor rgb '{}' title {}",
                    i, group_dash(i), colour, gnuplot_string(one.title)));
    parts.push_back(
        fmt::format("$measured{} using 1:2 with points pointtype 4 pointsize 0.9 linewidth 1.6 linecolor rgb "
                    "'{}' notitle",
                    i, colour));
  }
  auto legend = legend_for("lines predicted, squares measured", titles);
  double room = std::pow(std::max(ranges.largest / ranges.smallest, 2.0), 0.03);
  PlotAxis x{ranges.smallest / room, ranges.largest * room, true, margins.left, kCanvasWidth - margins.right};
  PlotAxis y{0, 1.08 * ranges.widest, false, margins.bottom + legend.height, kCanvasHeight - margins.top};
  return canvas_settings(format, {"All-reduce bandwidth", "message", "algbw (GB/s)"}, margins, legend) +
         range_settings("x", x) + range_settings("y", y) + tic_settings("x", size_tics(x)) + data +
         fmt::format("plot {}\n", fmt::join(parts, ", \\\n     "));
}

void write_bandwidth_plot(const std::vector<BandwidthSeries>& series, const std::string& path) {
  write_whole_file(path, run_program(gnuplot(), bandwidth_plot_script(series, plot_format(path))));
}

}  // namespace ddpsim
