#include "sim/study/uncertainty.hpp"

#include <algorithm>
#include <cmath>
#include <optional>

#include "sim/base/check.hpp"
#include "sim/evidence/conditioning.hpp"
#include "sim/study/run_all.hpp"
#include "sim/study/scenario_metrics.hpp"

namespace ddpsim {
namespace {

// Where a curve has its points: at these quantiles of each state of the unknown. Narrow ones are straight.
constexpr double kAll[] = {0.006, 0.16, 0.5, 0.84, 0.994}, kEnds[] = {0.006, 0.994}, kOne[] = {0.84};
constexpr double kNarrow = 0.1;

std::vector<double> values_of(const Unknown& unknown, double usual, bool is_slow) {
  std::vector<double> values;
  for (const auto& state : unknown.states) {
    auto alone = unknown;
    alone.states = {{1, state.middle, state.sigma}};
    std::span<const double> at = kAll;
    if (state.sigma <= kNarrow) at = kEnds;
    if (is_slow) at = kOne;
    for (double uniform : at)
      if (double value = alone.at(uniform); std::abs(value - usual) > 1e-9) values.push_back(value);
  }
  std::ranges::sort(values);
  values.erase(std::unique(values.begin(), values.end()), values.end());
  return values;
}

// Along the range, and as far beyond; what was fitted keeps its proportion.
Interference at_level(const Physics& physics, double compute) {
  const auto& [s, r] = physics.interference;
  if (physics.is_calibrated || !physics.range) return {compute, s > 0 ? r / s * compute : r};
  const auto &least = physics.range->least.interference, &most = physics.range->most.interference;
  double along =
      most.compute > least.compute ? (compute - least.compute) / (most.compute - least.compute) : 0;
  return {compute, std::max(0.0, least.collective + along * (most.collective - least.collective))};
}

// That the scenario has already.
double found_value(const Scenario& scenario, const Doubt& doubt) {
  auto found = scenario.evidence->found.find(name_of(*doubt.of));
  return found == scenario.evidence->found.end() ? 1 : found->second;
}

// The value that the scenario has of what a doubt turns; none: it moves the whole iteration.
std::optional<double> usual_value(const Scenario& scenario, const Doubt& doubt) {
  switch (doubt.of->moves) {
    case Moves::interference:
      return scenario.physics.interference.compute;
    case Moves::spread:
      return scenario.physics.spread.ranks;
    case Moves::collectives:
      // What workers wait for that wait for nobody is no collective: at most all of the step.
      if (scenario.is_asynchronous()) return std::nullopt;
      return found_value(scenario, doubt);
    case Moves::compute:
    case Moves::launches:
    case Moves::hooks:
      return 1;
    case Moves::step:
    case Moves::one_of_several:
      break;
  }
  return std::nullopt;
}

void turn_to(const Scenario& scenario, const Doubt& doubt, double value, Knobs& knobs) {
  switch (doubt.of->moves) {
    case Moves::compute:
      knobs.compute = value;
      break;
    case Moves::collectives:
      for (const auto& axis : doubt.axes) knobs.slower[axis] = value / found_value(scenario, doubt);
      break;
    case Moves::launches:
      knobs.launches = value;
      break;
    case Moves::hooks:
      knobs.hooks = value;
      break;
    case Moves::interference:
      knobs.interference = at_level(scenario.physics, value);
      break;
    case Moves::spread:
      knobs.spread = value;
      break;
    case Moves::step:
    case Moves::one_of_several:
      break;
  }
}

// Whether a simulation takes so long that a curve has two points.
bool is_slow(const Scenario& scenario) {
  constexpr std::size_t kMostOps = 20'000, kMostFlows = 100'000;
  if (scenario.uses_up_process()) return true;
  if (scenario.parallel) {
    const auto& [degrees, shape] =
        std::tie(scenario.parallel->options.degrees, scenario.parallel->options.shape);
    auto ops = static_cast<std::size_t>(degrees.pipeline) * static_cast<std::size_t>(shape.chunks) *
               static_cast<std::size_t>(shape.micro_batches);
    if (ops > kMostOps) return true;
  }
  if (scenario.fidelity == Fidelity::closed_form || !scenario.communication->folded) return false;
  std::size_t flows = 0;
  for (const auto& group : scenario.communication->folded->groups)
    for (const auto& stage : group.plan.stages)
      for (const auto& unit : stage.units)
        for (const auto& channel : unit.channels) flows += channel.flows.size();
  return flows * std::max<std::size_t>(1, scenario.plan.buckets.size()) > kMostFlows;
}

}  // namespace

CurveRuns::CurveRuns(const Scenario& scenario, std::size_t draws, bool are_lines) {
  if (!scenario.evidence) return;
  evidence_ = scenario.evidence;
  bool slow = are_lines || is_slow(scenario);
  for (const auto& doubt : scenario.doubts)
    if (const auto* line = scenario.evidence->find(*doubt.of)) add(scenario, doubt, *line, slow);
  if (!parts_.empty()) add_draws(scenario, draws);
}

void CurveRuns::add_draws(const Scenario& scenario, std::size_t draws) {
  draws_ = draws;
  auto first = knobs_.size();
  knobs_.resize(first + draws);
  for (const auto& turn : turned_) {
    auto values = picked_values(unknowns_.at(turn.name), *evidence_, draws);
    for (std::size_t i = 0; i < draws; ++i) turn_to(scenario, *turn.doubt, values[i], knobs_[first + i]);
  }
}

std::vector<Seconds> CurveRuns::simulated(double shown, std::span<const Seconds> times) const {
  std::vector<Seconds> drawn;
  for (auto time : times) drawn.push_back(shown * time);
  auto whole = unknowns_;
  for (const auto& turn : turned_) whole.erase(turn.name);
  for (const auto& [name, unknown] : whole) {
    auto factors = picked_values(unknown, *evidence_, times.size());
    for (std::size_t i = 0; i < drawn.size(); ++i) drawn[i] = factors[i] * drawn[i];
  }
  return drawn;
}

void CurveRuns::add(const Scenario& scenario, const Doubt& doubt, const Evidence::Line& line, bool is_slow) {
  bool is_without_host = doubt.of->moves == Moves::launches &&
                         (!scenario.is_timed_by_law() || scenario.software().host == Seconds());
  if (is_without_host) return;
  auto unknown = unknown_of(*doubt.of, line);
  if (doubt.of->of == Subject::compute && line.row > 0)
    unknowns_["row"] = {
        .name = "row", .states = {{1, 0, line.row}}, .is_heavy = true, .families = line.families};
  auto about = line;
  if (evidence_->found.contains(unknown.name))  // the prediction has its middle
    for (auto& state : about.states) state.middle = 0;
  parts_.push_back({doubt.of, doubt.what, std::move(about)});
  if (auto usual = usual_value(scenario, doubt)) {
    Turned turn{unknown.name, *usual, values_of(unknown, *usual, is_slow), &doubt};
    for (double value : turn.values) turn_to(scenario, doubt, value, knobs_.emplace_back());
    turned_.push_back(std::move(turn));
  }
  unknowns_[unknown.name] = std::move(unknown);
}

std::shared_ptr<const Uncertainty> CurveRuns::uncertainty(Seconds iteration, Seconds unvaried,
                                                          std::span<const Seconds> times) const {
  if (parts_.empty()) return nullptr;
  auto of_curves = times.first(times.size() - draws_);
  return std::make_shared<const Uncertainty>(response(iteration, unvaried, of_curves), unknowns_, parts_,
                                             evidence_, simulated(iteration / unvaried, times.last(draws_)));
}

Response CurveRuns::response(Seconds iteration, Seconds unvaried, std::span<const Seconds> times) const {
  DDPSIM_CHECK(times.size() + draws_ == knobs_.size(), "every knob was turned");
  Response response{iteration};
  double shown = iteration / unvaried;
  for (const auto& turn : turned_) {
    auto& curve = response.curves[turn.name];
    curve.points.push_back({turn.usual, iteration});
    for (double value : turn.values) {
      curve.points.push_back({value, shown * times.front()});
      times = times.subspan(1);
    }
    std::ranges::sort(curve.points);
    if (curve.points.size() < 2) curve.points.push_back({turn.usual + 1, iteration});
  }
  return response;
}

std::optional<Response> response_of(const Scenario& scenario) {
  CurveRuns runs(scenario);
  if (runs.unknowns().empty()) return std::nullopt;
  std::vector<ScenarioVariant> variants;
  for (const auto& knobs : runs.knobs()) variants.push_back({&scenario, {}, knobs});
  variants.push_back({&scenario});
  std::vector<Seconds> times;
  Seconds iteration, unvaried;
  run_all(variants, 1, [&](std::size_t i, const Scenario&, const Prediction& prediction) {
    if (i < runs.knobs().size()) return times.push_back(prediction.timeline.last_to_finish().duration());
    iteration = metrics_of(scenario, prediction).iteration;
    unvaried = scenario.sampled ? prediction.unvaried : iteration;
  });
  auto response = runs.response(iteration, unvaried, times);
  for (const auto& [name, unknown] : runs.unknowns())
    if (find_evidence_class(name) && !response.curves.contains(name))
      response.curves[name].points = {{1, iteration}, {2, 2 * iteration}};
  return response;
}

}  // namespace ddpsim
