#pragma once
// What a fabric that others use too gives to collectives between nodes: a share of the bandwidth it has when
// nobody is in the way, another one in every iteration.
#include <string>
#include <vector>

namespace ddpsim {

// Quantiles of that share, each above 0, not falling.
struct WeatherRow {
  int nodes = 2;
  double p5 = 1, median = 1, p95 = 1;
};

// Ascending by nodes, at least one row.
struct Weather {
  std::vector<WeatherRow> rows;
  std::string network = {};  // of the fabric where it was measured, as topologies name it; empty: not said
};

// The share that a fraction `quantile` (0 to 1) of iterations stays below, for a collective over so many
// nodes; within one node
// 1. Shares are interpolated in logarithms, over the logarithm of nodes and over quantiles, and stay at the
// ends' beyond.
double share_of_bandwidth(const Weather& weather, int nodes, double quantile);

}  // namespace ddpsim
