#include "sim/evidence/conditioning.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
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

std::vector<Seconds> draws_of(const Response& response, const Evidence& evidence, std::size_t draws) {
  Unknowns unknowns;
  for (const auto& [name, curve] : response.curves)
    if (const auto* of = find_evidence_class(name))
      if (const auto* line = evidence.find(*of)) unknowns[name] = unknown_of(*of, *line);
  return draws_of(response, unknowns, draws);
}

std::optional<Weights> weights_of(const Evidence& evidence, std::size_t draws) {
  std::optional<Weights> weights = Weights();
  for (const auto& one : evidence.measured) {
    weights = condition(draws_of(one.response, evidence, draws), one.took, one.row, *weights);
    if (!weights) break;
  }
  return weights;
}

std::vector<double> picked_values(const Unknown& unknown, const Evidence& evidence, std::size_t draws) {
  const auto& picked = evidence.picked;
  if (picked.empty()) return values_of(unknown, draws);
  const auto& all = values_of(unknown, kDrawsToWeigh);
  std::vector<double> values;
  for (std::size_t i = 0; i < draws; ++i) values.push_back(all[picked[i * picked.size() / draws]]);
  return values;
}

bool weigh(Evidence& evidence) {
  auto weights = weights_of(evidence, kDrawsToWeigh);
  evidence.picked.clear();
  if (!weights || weights->empty()) return weights.has_value();
  double total = std::accumulate(weights->begin(), weights->end(), 0.0), before = 0;
  if (!(total > 0)) return false;
  for (std::size_t i = 0; i < weights->size(); ++i) {
    before += (*weights)[i];
    auto until = before / total * static_cast<double>(kUsualDraws);
    while (evidence.picked.size() < kUsualDraws && static_cast<double>(evidence.picked.size()) + 0.5 < until)
      evidence.picked.push_back(i);
  }
  return true;
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
