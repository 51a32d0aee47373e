#include "validate/harness/stopping_rule.hpp"

#include <algorithm>
#include <cmath>

#include "sim/base/statistics.hpp"

namespace ddpsim::validate {
namespace {

// How many of n values to leave out at each end of the sorted sample: the most k for which fewer than k of
// them lie below the median, or above, with a probability of at most 5 % together.
std::size_t left_out(std::size_t n) {
  double trials = static_cast<double>(n);
  double probability = 0;  // of at most `below` values below the median
  for (std::size_t below = 0; below < n; ++below) {
    double k = static_cast<double>(below);
    probability += std::exp(std::lgamma(trials + 1) - std::lgamma(k + 1) - std::lgamma(trials - k + 1) -
                            trials * std::log(2.0));
    if (2 * probability > 0.05) return below;
  }
  return n;
}

}  // namespace

std::optional<MedianInterval> median_interval(std::vector<double> values) {
  auto k = left_out(values.size());
  if (k == 0 || values.empty()) return std::nullopt;
  std::sort(values.begin(), values.end());
  return MedianInterval{values[k - 1], median(values), values[values.size() - k]};
}

Verdict judge(const std::vector<Seconds>& samples, Seconds spent, const Sampling& sampling) {
  auto n = static_cast<int>(samples.size());
  if (n < sampling.least) return Verdict::go_on;
  std::vector<double> values;
  for (auto sample : samples) values.push_back(sample.value());
  if (auto interval = median_interval(values)) {
    double margin = sampling.precision * interval->median;
    if (interval->upper - interval->median <= margin && interval->median - interval->lower <= margin)
      return Verdict::settled;
  }
  return n >= sampling.most || spent >= sampling.budget ? Verdict::give_up : Verdict::go_on;
}

}  // namespace ddpsim::validate
