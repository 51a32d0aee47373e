#include "sim/trace/import/pytorch_profiler/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace ddpsim::pytorch_profiler {

double mean(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  auto middle = values.size() / 2;
  return values.size() % 2 == 1 ? values[middle] : (values[middle - 1] + values[middle]) / 2;
}

std::optional<double> standard_deviation(const std::vector<double>& values) {
  if (values.size() < 2) return std::nullopt;
  double center = mean(values), squares = 0;
  for (double value : values) squares += (value - center) * (value - center);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

}  // namespace ddpsim::pytorch_profiler
