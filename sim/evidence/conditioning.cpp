#include "sim/evidence/conditioning.hpp"

#include <cmath>
#include <limits>
#include <string>

#include "sim/base/check.hpp"
#include "sim/evidence/unknown.hpp"

namespace ddpsim {
namespace {

constexpr double kFarthest = 4;
constexpr std::size_t kOutcomes = 48;

}  // namespace

std::optional<Weights> condition(std::span<const Seconds> predicted, Seconds measured, double row,
                                 const Weights& before) {
  DDPSIM_CHECK(row > 0 && measured > Seconds(), "a measurement has a time, and an error of its own");
  Weights weights;
  double nearest = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < predicted.size(); ++i) {
    double away = std::log(measured / predicted[i]) / row;
    nearest = std::min(nearest, std::abs(away));
    double density = std::pow(1 + away * away / kStudentDegrees, -(kStudentDegrees + 1) / 2);
    weights.push_back((before.empty() ? 1 : before[i]) * density);
  }
  if (nearest > kFarthest) return std::nullopt;
  return weights;
}

double width_after(std::span<const Seconds> job, const Measurable& measurable, double share) {
  auto outcomes = column("outcome of " + std::string(measurable.name), kOutcomes);
  auto which = column("draw of " + std::string(measurable.name), kOutcomes);
  double sum = 0;
  for (std::size_t i = 0; i < kOutcomes; ++i) {
    auto draw = static_cast<std::size_t>(which[i] * static_cast<double>(measurable.draws.size()));
    auto measured = std::exp(measurable.row * student_quantile(outcomes[i])) * measurable.draws[draw];
    auto weights = condition(measurable.draws, measured, measurable.row);
    sum += interval_of(job, share, weights.value_or(Weights())).width();
  }
  return sum / kOutcomes;
}

}  // namespace ddpsim
