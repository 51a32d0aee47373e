#include "sim/evidence/interval.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <optional>
#include <utility>

#include "sim/base/check.hpp"

namespace ddpsim {

Seconds quantile_of(std::span<const Seconds> draws, double share, const Weights& weights) {
  DDPSIM_CHECK(!draws.empty() && (weights.empty() || weights.size() == draws.size()), "a weight a draw");
  std::vector<std::pair<Seconds, double>> sorted;
  for (std::size_t i = 0; i < draws.size(); ++i)
    sorted.emplace_back(draws[i], weights.empty() ? 1 : weights[i]);
  std::ranges::sort(sorted);
  double total = 0;
  for (const auto& [time, weight] : sorted) total += weight;
  double before = 0;
  std::optional<std::pair<double, Seconds>> last;  // the middle of a weight, and its draw
  for (const auto& [time, weight] : sorted) {
    double middle = (before + weight / 2) / total;
    if (middle >= share) {
      if (!last || middle == last->first) return time;
      return last->second + (share - last->first) / (middle - last->first) * (time - last->second);
    }
    before += weight;
    last = {middle, time};
  }
  return sorted.back().first;
}

Interval interval_of(std::span<const Seconds> draws, double share, const Weights& weights) {
  return {quantile_of(draws, 0.5 - share / 2, weights), quantile_of(draws, 0.5 + share / 2, weights)};
}

double crps(std::vector<double> draws, double truth) {
  DDPSIM_CHECK(draws.size() >= 2, "a distribution has draws");
  std::ranges::sort(draws);
  auto n = static_cast<double>(draws.size());
  double away = 0, spread = 0;
  for (std::size_t i = 0; i < draws.size(); ++i) {
    away += std::abs(draws[i] - truth);
    spread += (2 * static_cast<double>(i) - n + 1) * draws[i];
  }
  return away / n - spread / (n * (n - 1));
}

}  // namespace ddpsim
