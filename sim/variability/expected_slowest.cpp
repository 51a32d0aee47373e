#include "sim/variability/expected_slowest.hpp"

#include <algorithm>
#include <cmath>

#include "sim/base/check.hpp"
#include "sim/variability/variability.hpp"

namespace ddpsim {
namespace {

constexpr double kFarOut = 8;   // standard deviations: nothing lies beyond
constexpr int kSteps = 400;     // of the integral over the largest
constexpr int kNodeSteps = 64;  // of that over a node's factor

double normal_cdf(double x) {
  return 0.5 * std::erfc(-x / std::sqrt(2.0));
}

// Simpson's rule.
template <class Function>
double integral(double from, double to, int steps, Function f) {
  double width = (to - from) / steps, sum = f(from) + f(to);
  for (int i = 1; i < steps; ++i) sum += (i % 2 == 1 ? 4 : 2) * f(from + i * width);
  return sum * width / 3;
}

// The probability that no rank's ln of its slowdown is above x, of a node whose factor's is `node`.
double ranks_below(double x, const AlikeNodes& alike, double sigma, double node) {
  double all = 1;
  for (const auto& [slowdown, ranks] : alike.ranks) {
    all *= std::pow(normal_cdf((x - std::log(slowdown) - node) / sigma), ranks);
  }
  return all;
}

// Where only nodes vary a node is as its slowest rank.
std::vector<AlikeNodes> slowest_of_each(std::span<const AlikeNodes> nodes) {
  std::vector<AlikeNodes> slowest;
  for (const auto& alike : nodes) {
    auto one = std::max_element(alike.ranks.begin(), alike.ranks.end(),
                                [](const auto& a, const auto& b) { return a.slowdown < b.slowdown; });
    slowest.push_back({{{one->slowdown, 1}}, alike.nodes});
  }
  return slowest;
}

}  // namespace

double expected_slowest(std::span<const AlikeNodes> nodes, double spread_of_ranks, double spread_of_nodes) {
  DDPSIM_CHECK(!nodes.empty(), "there are ranks");
  if (spread_of_ranks == 0 && spread_of_nodes > 0)
    return expected_slowest(slowest_of_each(nodes), spread_of_nodes, 0);
  double of_ranks = log_normal_sigma(spread_of_ranks), of_nodes = log_normal_sigma(spread_of_nodes);
  double slowest = 0;
  for (const auto& alike : nodes)
    for (const auto& one : alike.ranks) slowest = std::max(slowest, one.slowdown);
  double reach = kFarOut * std::hypot(of_ranks, of_nodes);
  if (reach == 0) return slowest;
  auto below = [&](double x) {
    double all = 1;
    for (const auto& alike : nodes) {
      double one = 0;
      if (of_nodes == 0)
        one = ranks_below(x, alike, of_ranks, 0);
      else
        one = integral(-kFarOut, kFarOut, kNodeSteps, [&](double z) {
          constexpr double kDensity = 0.39894228040143267794;  // 1 / sqrt(2 pi)
          return kDensity * std::exp(-z * z / 2) * ranks_below(x, alike, of_ranks, of_nodes * z);
        });
      all *= std::pow(one, alike.nodes);
    }
    return all;
  };
  double least = std::log(slowest) - reach, most = std::log(slowest) + reach;
  // E[exp(x)] = exp(least) + the integral of exp(x) (1 - F(x)).
  return std::exp(least) +
         integral(least, most, kSteps, [&](double x) { return std::exp(x) * (1 - below(x)); });
}

}  // namespace ddpsim
