#include "validate/comparison/judgement.hpp"

#include <algorithm>
#include <cmath>

#include "validate/harness/stopping_rule.hpp"

#include "sim/base/statistics.hpp"

namespace ddpsim::validate {
namespace {

// Of decimal fractions: 1.05 / 1 - 1 is more than 0.05.
constexpr double kShareRounding = 1e-12;

bool is_beyond(double share, double threshold) {
  return share > threshold + kShareRounding;
}

// Half the 95 % confidence interval of a mean, in standard deviations: the 97.5 % quantile of Student's t
// with n - 1 degrees of freedom over the square root of n. Of two to five repetitions, for which the median
// has no interval; of six it is 2.571 / sqrt(6) = 1.05.
double deviations_of_mean(std::size_t n) {
  constexpr double kQuantiles[] = {12.706, 4.303, 3.182, 2.776};
  return n >= 2 && n <= 5 ? kQuantiles[n - 2] / std::sqrt(static_cast<double>(n)) : 1;
}

UncertainTime within(Seconds value, Seconds half_width) {
  return {value, std::max(Seconds(0), value - half_width), value + half_width};
}

}  // namespace

double UncertainTime::noise() const {
  return std::max(most - value, value - least) / value;
}

UncertainTime measured_time(Seconds median, const std::vector<Seconds>& samples,
                            std::optional<Seconds> deviation) {
  std::vector<double> values;
  for (auto sample : samples) values.push_back(sample.value());
  if (auto interval = median_interval(values))
    return {median, Seconds(interval->lower), Seconds(interval->upper)};
  if (values.size() > 1) deviation = Seconds(*standard_deviation(values));
  return deviation ? within(median, deviations_of_mean(values.size()) * *deviation)
                   : UncertainTime{median, median, median};
}

UncertainTime predicted_time(const IterationMetrics& metrics) {
  if (!metrics.uncertainty) return {metrics.iteration, metrics.iteration, metrics.iteration};
  const auto& [least, most] = metrics.uncertainty->likely();
  return {metrics.iteration, std::min(least, metrics.iteration), std::max(most, metrics.iteration)};
}

UncertainShare error_of(const ComparedTime& point) {
  const auto& [predicted, measured] = point;
  auto error = [&](Seconds prediction, Seconds measurement) { return prediction / measurement - 1; };
  double too_slow = error(predicted.least, measured.most), too_fast = -error(predicted.most, measured.least);
  return {std::abs(error(predicted.value, measured.value)), std::max({0.0, too_slow, too_fast}),
          std::max(error(predicted.value, measured.least), -error(predicted.value, measured.most)),
          measured.noise(),
          std::max({0.0, error(predicted.value, measured.most), -error(predicted.value, measured.least)})};
}

UncertainShare regret_of(const ComparedTime& chosen, const ComparedTime& other) {
  auto loss = [](Seconds one, Seconds another) { return std::max(0.0, one / another - 1); };
  // At an end of its range the prediction itself may prefer the other one: the same causes move both points.
  double admitted = std::max(loss(chosen.predicted.least, other.predicted.least),
                             loss(chosen.predicted.most, other.predicted.most));
  double beyond = loss(chosen.measured.least, other.measured.most);
  return {loss(chosen.measured.value, other.measured.value), std::max(0.0, beyond - admitted),
          loss(chosen.measured.most, other.measured.least), chosen.measured.noise() + other.measured.noise(),
          beyond};
}

Judgement judgement_of(const UncertainShare& share, double threshold) {
  if (is_beyond(share.least, threshold)) return Judgement::missed;
  if (is_beyond(share.beyond_measured, threshold)) return Judgement::too_vague;
  bool is_open = is_beyond(share.most, threshold) && is_beyond(share.noise, threshold);
  return is_open ? Judgement::too_noisy : Judgement::met;
}

}  // namespace ddpsim::validate
