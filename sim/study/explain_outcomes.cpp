#include "sim/study/explain_outcomes.hpp"

#include <cmath>
#include <ostream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/one_line.hpp"

namespace ddpsim {
namespace {

// To be typed.
std::string settings_of(const Outcome& outcome) {
  std::string text;
  for (const auto& set : outcome.set) {
    const char* quote = set.find(' ') == std::string::npos ? "" : "'";
    text += fmt::format("{}--set {}{}{}", text.empty() ? "" : " ", quote, set, quote);
  }
  return text;
}

std::string shown(const Outcome& outcome) {
  return outcome.fit == Fit::yes ? outcome.change
                                 : fmt::format("{} ({})", outcome.change, fit_word(outcome.fit));
}

}  // namespace

Outcome outcome_of(const Change& change, const IterationMetrics& changed, const IterationMetrics& metrics) {
  bool may_grow = !changed.memory || (metrics.memory && !metrics.memory->fits());
  // A change of how a model is shared may change how many samples a step has: of as many.
  double samples = metrics.shared_model ? *metrics.samples_per_s * metrics.iteration.value() /
                                              (*changed.samples_per_s * changed.iteration.value())
                                        : 1;
  return {change.name, change.overrides, samples * changed.iteration - metrics.iteration,
          may_grow ? Fit::yes : changed.memory->fit(),
          changed.memory ? std::optional(changed.memory->fits()) : std::nullopt};
}

void BestSharding::add(const Outcome& outcome) {
  for (auto& one : kinds_) {
    if (!outcome.change.starts_with(one.prefix)) continue;
    ++one.tried;
    if (outcome.fit == Fit::yes && (!one.best || outcome.difference < one.best->difference))
      one.best = outcome;
  }
}

void BestSharding::print(std::ostream& out, Seconds iteration) const {
  constexpr double kMeasurable = 0.005;
  for (const auto& one : kinds_) {
    if (one.tried == 0) continue;
    bool is_better = one.best && one.best->difference < -kMeasurable * iteration;
    out << fmt::format("best {} of {} tried: {}\n", one.what, one.tried + 1,
                       is_better ? fmt::format("{} ({:+.1f} %)", settings_of(*one.best),
                                               100 * (one.best->difference / iteration))
                                 : "the one in use (none of the others that fit is 0.5 % faster)");
  }
}

void print_outcomes(std::ostream& out, const std::vector<Outcome>& outcomes, Seconds iteration,
                    const std::vector<LeftOut>& left_out) {
  out << "\nwhat would change it (each simulated)\n";
  std::vector<std::string> same;
  for (const auto& outcome : outcomes) {
    constexpr double kRounding = 1e-9;
    if (std::abs(outcome.difference / iteration) < kRounding) {
      same.push_back(shown(outcome));
      continue;
    }
    out << fmt::format("  {:>+9.3f} ms {:>+7.1f} %  {}\n", 1e3 * outcome.difference.value(),
                       100 * (outcome.difference / iteration), shown(outcome));
  }
  if (!same.empty()) out << fmt::format("  no difference: {}\n", fmt::join(same, "; "));
  for (const auto& one : left_out) out << fmt::format("  not tried: {}: {}\n", one.name, one_line(one.why));
}

Cell::Fields outcome_fields(const std::vector<Outcome>& outcomes, const std::vector<LeftOut>& left_out) {
  const Columns<Outcome> changes{{"change", &Outcome::change},
                                 {"set", &Outcome::set},
                                 {"difference_s", &Outcome::difference},
                                 {"fits", &Outcome::fits}};
  const Columns<LeftOut> not_tried{{"change", &LeftOut::name}, {"why", &LeftOut::why}};
  return {{"changes", fields_of_each(changes, outcomes)}, {"not_tried", fields_of_each(not_tried, left_out)}};
}

}  // namespace ddpsim
