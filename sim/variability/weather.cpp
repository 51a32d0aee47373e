#include "sim/variability/weather.hpp"

#include <algorithm>
#include <cmath>

#include "sim/base/check.hpp"

namespace ddpsim {
namespace {

// Of the way from a to b; both ends beyond them.
double between(double least, double most, double where) {
  return std::clamp((where - least) / (most - least), 0.0, 1.0);
}

double log_share(const WeatherRow& row, double quantile) {
  double p5 = std::log(row.p5), median = std::log(row.median), p95 = std::log(row.p95);
  if (quantile < 0.5) return p5 + (median - p5) * between(0.05, 0.5, quantile);
  return median + (p95 - median) * between(0.5, 0.95, quantile);
}

}  // namespace

double share_of_bandwidth(const Weather& weather, int nodes, double quantile) {
  DDPSIM_CHECK(!weather.rows.empty(), "weather is known of some number of nodes");
  if (nodes < 2) return 1;
  auto above = std::find_if(weather.rows.begin(), weather.rows.end(),
                            [nodes](const WeatherRow& row) { return row.nodes >= nodes; });
  if (above == weather.rows.end()) return std::exp(log_share(weather.rows.back(), quantile));
  double share = log_share(*above, quantile);
  if (above->nodes == nodes || above == weather.rows.begin()) return std::exp(share);
  const auto& below = *std::prev(above);
  double way = between(std::log(below.nodes), std::log(above->nodes), std::log(nodes));
  double low = log_share(below, quantile);
  return std::exp(low + (share - low) * way);
}

}  // namespace ddpsim
