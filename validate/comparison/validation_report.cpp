#include "validate/comparison/validation_report.hpp"

#include <algorithm>
#include <cmath>

#include <fmt/core.h>

#include "sim/base/check.hpp"
#include "sim/base/source.hpp"
#include "sim/report/table_parts.hpp"
#include "sim/result/synthetic_note.hpp"

namespace ddpsim::validate {
namespace {

// Of decimal fractions: 1.05 / 1 - 1 is more than 0.05.
constexpr double kRounding = 1e-12;

// Which of two times is longer: -1, 0 (equal to 1e-12 relative, as in SweepResult) or 1.
int order(Seconds a, Seconds b) {
  if (std::abs((a - b).value()) <= kRounding * std::min(a, b).value()) return 0;
  return a < b ? -1 : 1;
}

std::optional<double> pairs_in_order(const SweepResult& predicted, const std::vector<std::size_t>& group) {
  auto spread = [](const SweepPoint& point) { return point.measured->spread.value_or(Seconds(0)); };
  std::size_t pairs = 0, alike = 0;
  for (std::size_t i = 0; i < group.size(); ++i)
    for (std::size_t j = 0; j < i; ++j) {
      const auto &a = predicted.points[group[i]], &b = predicted.points[group[j]];
      Seconds difference = a.measured->iteration - b.measured->iteration;
      if (std::abs(difference.value()) <= 2 * std::max(spread(a), spread(b)).value()) continue;
      ++pairs;
      if (order(a.metrics.iteration, b.metrics.iteration) == (difference < Seconds(0) ? -1 : 1)) ++alike;
    }
  if (pairs == 0) return std::nullopt;
  return static_cast<double>(alike) / static_cast<double>(pairs);
}

// The same points, as if what was measured had been predicted.
SweepResult as_measured(SweepResult result) {
  for (auto& point : result.points) point.metrics.iteration = point.measured->iteration;
  return result;
}

std::vector<Choice> choices_of(const SweepResult& predicted) {
  auto cap = predicted.find_axis(kBucketCapAxis);
  if (!cap && !predicted.compares_choices()) return {};
  auto measured = as_measured(predicted);
  std::vector<Choice> choices;
  for (const auto& group : predicted.groups(cap)) {
    Choice choice;
    choice.group = group.name;
    choice.points = group.points;
    choice.predicted_best = predicted.best_of(group.points);
    choice.measured_best = measured.best_of(group.points);
    auto iteration_of = [&](std::size_t point) { return measured.points[point].metrics.iteration; };
    // The predicted best may be one of several that are equally short.
    choice.regret =
        std::max(0.0, iteration_of(choice.predicted_best) / iteration_of(choice.measured_best) - 1);
    choice.pairs_in_order = pairs_in_order(predicted, group.points);
    choices.push_back(std::move(choice));
  }
  return choices;
}

// What a threshold is held against, and where it was found.
struct Finding {
  UncertainShare share;
  std::string where;
};

std::vector<Finding> errors(const ValidationReport& report) {
  std::vector<Finding> errors;
  for (std::size_t i = 0; i < report.points.size(); ++i)
    errors.push_back({error_of(report.points[i].times()), report.name_of(i)});
  return errors;
}

// Of each group's predicted best, beside every other point of the group.
template <class Where>
std::vector<Finding> regrets(const ValidationReport& report, Where where) {
  std::vector<Finding> regrets;
  for (const auto& choice : report.choices)
    for (auto other : choice.points) {
      if (other == choice.predicted_best) continue;
      auto share = regret_of(report.points[choice.predicted_best].times(), report.points[other].times());
      regrets.push_back({share, where(choice, other)});
    }
  return regrets;
}

// Of those that are judged to be so, the one with the most of this; null where none is.
const Finding* most_of(const std::vector<Finding>& findings, double threshold, Judgement judgement,
                       double UncertainShare::*most) {
  const Finding* found = nullptr;
  for (const auto& finding : findings)
    if (judgement_of(finding.share, threshold) == judgement &&
        (!found || finding.share.*most > found->share.*most))
      found = &finding;
  return found;
}

std::string missed_sentence(std::string_view what, double threshold, const Finding& finding) {
  const auto& share = finding.share;
  auto beyond = share.least < share.value ? fmt::format(" ({:.4g} % beyond noise)", 100 * share.least) : "";
  return fmt::format("the largest {} is {:.4g} %{}, more than {:.4g} %{}{}", what, 100 * share.value, beyond,
                     100 * threshold, finding.where.empty() ? "" : ": ", finding.where);
}

std::string vague_sentence(std::string_view what, double threshold, const Finding& finding) {
  return fmt::format(
      "the {} is {:.4g} %, held against {:.4g} %, and the prediction is no surer than that{}{}", what,
      100 * finding.share.value, 100 * threshold, finding.where.empty() ? "" : ": ", finding.where);
}

std::string noisy_sentence(std::string_view what, double threshold, const Finding& finding) {
  return fmt::format("the {} is held against {:.4g} %, and what was measured is certain to {:.4g} % only{}{}",
                     what, 100 * threshold, 100 * finding.share.noise, finding.where.empty() ? "" : ": ",
                     finding.where);
}

}  // namespace

std::optional<double> ComparedBucket::end_error() const {
  if (measured.end <= Seconds(0)) return std::nullopt;
  return predicted.end / measured.end - 1;
}

std::optional<double> ComparedPoint::exposed_error() const {
  auto computing = predicted.forward + predicted.backward_compute + predicted.optimizer;
  auto exposed = measured - computing;
  if (exposed <= Seconds(1e-9)) return std::nullopt;
  return (predicted.iteration - computing) / exposed - 1;
}

ComparedTime ComparedPoint::times() const {
  return {predicted_time(predicted), measured_time(measured, samples, spread)};
}

std::optional<Seconds> ComparedPoint::measured_least() const {
  return spread || samples.size() > 1 ? std::optional(times().measured.least) : std::nullopt;
}

std::optional<Seconds> ComparedPoint::measured_most() const {
  return spread || samples.size() > 1 ? std::optional(times().measured.most) : std::nullopt;
}

std::string ValidationReport::name_of(std::size_t point) const {
  const auto& named = points[point];
  return point_name(axes, named.axis_values, named.predicted);
}

std::string ValidationReport::trace_note() const {
  return synthetic_note(
      points, [](const ComparedPoint& point) -> const auto& { return point.predicted; });
}

std::size_t ValidationReport::farthest() const {
  auto shorter = [](const auto& a, const auto& b) { return std::abs(a.error()) < std::abs(b.error()); };
  return static_cast<std::size_t>(std::max_element(points.begin(), points.end(), shorter) - points.begin());
}

double ValidationReport::largest_error() const {
  DDPSIM_CHECK(!points.empty(), "a report has points");
  return std::abs(points[farthest()].error());
}

std::optional<double> ValidationReport::largest_regret() const {
  std::optional<double> largest;
  for (const auto& choice : choices)
    if (choice.points.size() > 1) largest = std::max(largest.value_or(0), choice.regret);
  return largest;
}

std::vector<std::string> ValidationReport::missed() const {
  std::vector<std::string> missed;
  auto hold = [&](std::string_view what, const std::vector<Finding>& findings, double threshold) {
    if (const auto* worst = most_of(findings, threshold, Judgement::missed, &UncertainShare::least))
      missed.push_back(missed_sentence(what, threshold, *worst));
  };
  if (thresholds.iteration_error) hold("error", errors(*this), *thresholds.iteration_error);
  if (!thresholds.regret) return missed;
  if (!largest_regret())
    missed.push_back(
        fmt::format("there is no choice between measured points to hold against a regret of {:.4g} %",
                    100 * *thresholds.regret));
  hold("regret", regrets(*this, [](const Choice& choice, std::size_t) { return choice.group; }),
       *thresholds.regret);
  return missed;
}

std::vector<std::string> ValidationReport::too_noisy() const {
  std::vector<std::string> noisy;
  auto hold = [&](std::string_view what, const std::vector<Finding>& findings, double threshold) {
    if (const auto* worst =
            most_of(findings, threshold, Judgement::too_vague, &UncertainShare::beyond_measured))
      noisy.push_back(vague_sentence(what, threshold, *worst));
    if (const auto* worst = most_of(findings, threshold, Judgement::too_noisy, &UncertainShare::noise))
      noisy.push_back(noisy_sentence(what, threshold, *worst));
  };
  auto pair = [&](const Choice& choice, std::size_t other) {
    return fmt::format("{} beside {}", name_of(choice.predicted_best), name_of(other));
  };
  if (thresholds.iteration_error) hold("error", errors(*this), *thresholds.iteration_error);
  if (thresholds.regret) hold("regret", regrets(*this, pair), *thresholds.regret);
  return noisy;
}

ValidationReport compare(const SweepResult& result, const Thresholds& thresholds) {
  SweepResult measured{result.axes, {}, {}, result.title};
  for (const auto& point : result.points)
    if (point.measured) measured.points.push_back(point);
  if (measured.points.empty())
    throw InputError("none of the points was measured, so there is nothing to compare",
                     "a measurement belongs to a point of the same strategy, world size and bucket cap");
  ValidationReport report;
  report.title = result.title;
  report.axes = result.axes;
  report.thresholds = thresholds;
  for (const auto& point : measured.points) {
    DDPSIM_CHECK(point.measured->iteration > Seconds(0), "a measured iteration takes time");
    report.points.push_back(
        {point.axis_values, point.metrics, {}, point.measured->iteration, point.measured->spread, true, {}});
  }
  report.choices = choices_of(measured);
  return report;
}

}  // namespace ddpsim::validate
