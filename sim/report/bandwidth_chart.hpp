#pragma once
// Measured all-reduce bandwidths beside predicted ones.
#include <string>
#include <utility>
#include <vector>

#include "sim/report/chart.hpp"

namespace ddpsim {

struct BandwidthSeries {
  std::string title;
  std::vector<std::pair<Bytes, BytesPerSecond>> measured, predicted;  // algbw by message size
};

// algbw over message size: squares as measured, a line as predicted, in the colour of the series.
Chart bandwidth_chart(const std::vector<BandwidthSeries>& series);

}  // namespace ddpsim
