#include "sim/base/statistics.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

#include "sim/base/check.hpp"

namespace ddpsim {

double mean(const std::vector<double>& values) {
  DDPSIM_CHECK(!values.empty(), "something to take the mean of");
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

double quantile(std::vector<double> values, double share) {
  DDPSIM_CHECK(!values.empty(), "something to take a quantile of");
  DDPSIM_CHECK(share >= 0 && share <= 1, "a share of the values");
  std::sort(values.begin(), values.end());
  double at = share * static_cast<double>(values.size() - 1);
  auto below = static_cast<std::size_t>(at);
  auto above = std::min(below + 1, values.size() - 1);
  return values[below] + (values[above] - values[below]) * (at - static_cast<double>(below));
}

std::size_t nearest_rank(const std::vector<double>& values, double share) {
  DDPSIM_CHECK(!values.empty(), "something to take a quantile of");
  DDPSIM_CHECK(share >= 0 && share <= 1, "a share of the values");
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](auto a, auto b) { return values[a] < values[b]; });
  auto rank = static_cast<std::size_t>(std::ceil(share * static_cast<double>(values.size())));
  return order[std::max<std::size_t>(rank, 1) - 1];
}

double median(std::vector<double> values) {
  return quantile(std::move(values), 0.5);
}

std::optional<double> standard_deviation(const std::vector<double>& values) {
  if (values.size() < 2) return std::nullopt;
  double center = mean(values), squares = 0;
  for (double value : values) squares += (value - center) * (value - center);
  return std::sqrt(squares / static_cast<double>(values.size() - 1));
}

}  // namespace ddpsim
