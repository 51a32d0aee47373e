#include <algorithm>

#include "sim/base/check.hpp"
#include "sim/report/charts.hpp"

namespace ddpsim {

Chart bandwidth_chart(const std::vector<BandwidthSeries>& series) {
  Chart chart{"All-reduce bandwidth", "", "lines predicted, squares measured"};
  double smallest = 0, largest = 0, widest = 0;
  auto points_of = [&](const std::vector<std::pair<Bytes, BytesPerSecond>>& given) {
    std::vector<ChartPoint> points;
    for (auto [bytes, bandwidth] : given) {
      points.push_back({bytes.value(), bandwidth.value() / 1e9});
      smallest = smallest == 0 ? bytes.value() : std::min(smallest, bytes.value());
      largest = std::max(largest, bytes.value());
      widest = std::max(widest, points.back().y);
    }
    return points;
  };
  for (std::size_t i = 0; i < series.size(); ++i) {
    auto style = group_style(i);
    chart.series.push_back({series[i].title, Shape::line, style, points_of(series[i].predicted)});
    chart.series.push_back(
        {"", Shape::upright, {style.colour, 1.6, {}, Marker::square}, points_of(series[i].measured)});
  }
  DDPSIM_CHECK(smallest > 0, "there is something to plot");
  chart.x = {"message", 0, 0, true};
  fit(chart.x, smallest, largest, 0.03);
  chart.x.tics = size_tics(chart.x);
  chart.y = {"algbw (GB/s)", 0, 1.08 * widest};
  return chart;
}

}  // namespace ddpsim
