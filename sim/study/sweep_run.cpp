#include "sim/study/sweep_run.hpp"

#include <algorithm>
#include <map>
#include <sstream>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/check.hpp"
#include "sim/base/environment_error.hpp"
#include "sim/config/overrides.hpp"
#include "sim/ddp/ddp_rules.hpp"
#include "sim/report/sweep_html.hpp"
#include "sim/result/measured_iterations.hpp"
#include "sim/study/choices.hpp"
#include "sim/study/explain.hpp"
#include "sim/study/notes.hpp"
#include "sim/study/point_runs.hpp"
#include "sim/study/simulate_once.hpp"
#include "sim/text/presets.hpp"

namespace ddpsim {
namespace {

constexpr std::size_t kMostCompared = 12;  // groups with PyTorch's default beside their best cap

// The scenario that a point is, as a file would say it.
void set_point(config::Value& root, const SweepResult& result, const SweepPoint& point,
               const std::vector<config::SweepAxis>& axes) {
  for (std::size_t i = 0; i < result.axes.size(); ++i) {
    const auto& written = point.axis_values[i];
    if (written == kUnusedValue) continue;
    auto axis =
        std::find_if(axes.begin(), axes.end(), [&](const auto& one) { return one.key == result.axes[i]; });
    const config::Value* value = nullptr;
    if (axis != axes.end())
      for (const auto& one : axis->values)
        if (text_of(one) == written) value = &one;
    // What is not on the axis is a cap that --exact-optimum found.
    config::set_at(root, result.axes[i], value ? *value : config::scalar_value(written, root.span),
                   root.span);
  }
}

// The best point of a group under PyTorch's default cap; none where the strategy has no cap, or the rule no
// default.
std::optional<Scenario> with_default_cap(config::Value root, Files& files, const IterationMetrics& best) {
  if (!best.strategy->traits.is_ddp || !best.bucket_cap) return std::nullopt;
  const auto* rule = config::find_at(root, "ddp.rule");
  if (rule && rule->scalar == "close_before_exceeding") return std::nullopt;
  if (auto* ddp = root.find("ddp"))
    std::erase_if(ddp->value.entries, [](const config::Entry& entry) { return entry.key == "bucket_cap"; });
  auto scenario = resolve(files, root);
  if (!scenario.plan.bucket_cap) return std::nullopt;
  return scenario;
}

// The roundest number of MiB near the best point's cap that makes the same buckets; none: no number near it
// does, or the strategy has no cap.
std::optional<Bytes> round_cap(config::Value root, Files& files, const IterationMetrics& best) {
  if (!best.strategy->traits.is_ddp || !best.bucket_cap) return std::nullopt;
  constexpr double kMiB = 0x1p20;
  auto plan_under = [&](Bytes cap) {
    auto text = fmt::format("{:.0f}B", cap.value());
    config::set_at(root, kBucketCapAxis, config::scalar_value(std::move(text), root.span), root.span);
    return resolve(files, root).plan;
  };
  const auto wanted = plan_under(*best.bucket_cap);
  for (double step : {100., 50., 25., 10., 5., 1.}) {
    double below = std::floor(best.bucket_cap->value() / kMiB / step) * step;
    for (double mebibytes : {below, below + step})
      if (mebibytes > 0 && plan_under(Bytes(mebibytes * kMiB)).buckets == wanted.buckets)
        return Bytes(mebibytes * kMiB);
  }
  return std::nullopt;
}

// In bytes of gradients, as caps are. `caps`: those of the sweep; all-reduces are at most all gradients.
CapFormula formula_of(const Scenario& scenario, const std::vector<Bytes>& caps) {
  auto slowdown = largest_slowdown(scenario.groups);
  const auto& trace = *scenario.trace;
  double steps = scenario.plan.accumulation_steps;
  CapFormula formula;
  formula.ranks = scenario.groups.front().ranks;
  formula.backward = slowdown * trace.backward();
  formula.rest = slowdown * (steps * trace.forward.value_or(Seconds()) + (steps - 1) * trace.backward() +
                             trace.optimizer.value_or(Seconds()));
  Bytes wire;  // a hook may send 16 of 32 bits
  for (const auto& bucket : scenario.plan.buckets) {
    formula.gradients += bucket.bytes;
    wire += bucket.wire;
  }
  formula.sent = wire / formula.gradients;
  auto [smallest, largest] = std::minmax_element(caps.begin(), caps.end());
  formula.smallest = std::min(*smallest, formula.gradients / 2);
  formula.largest = std::min(std::max(*largest, 2 * formula.smallest), formula.gradients);
  auto costs = costs_of(scenario);
  auto time = [&](Bytes bytes) {
    return costs.front().cost->alone(Operation::all_reduce, formula.sent * bytes).idle;
  };
  auto least = time(formula.smallest), most = time(formula.largest);
  if (most <= least)
    throw InputError("all-reduces take no longer the larger they are: no line of a bandwidth",
                     "leave out --formula");
  formula.bandwidth = (formula.largest - formula.smallest) / (most - least);
  formula.latency = std::max(Seconds(), least - formula.smallest / formula.bandwidth);
  return formula;
}

// The rows of a sweep in the order of its points, as results arrive.
class SweepRows {
 public:
  SweepRows(const SweepPlan& plan, SweepResult& result, const OnSweepPoint& on_point)
      : plan_(plan), result_(result), on_point_(on_point), refused_(plan.refused.begin()) {}

  // The hint of the first point that was lost, if any.
  std::optional<std::string> run(unsigned jobs) {
    std::vector<ScenarioVariant> simulated;
    for (std::size_t i = 0; i < plan_.points.size(); ++i)
      if (plan_.same_as[i] == i) simulated.push_back(plan_.points[i]);
    result_.points.reserve(plan_.points.size());
    fail_refused();
    run_every_point(
        simulated, jobs,
        [this](std::size_t, const Prediction&, IterationMetrics metrics) {
          rows_[next_] = result_.points.size();
          add(std::move(metrics));
          add_known();
        },
        [this](std::size_t, const PointError& why) {
          if (why.who == PointFailure::defect) throw InternalError(why.message);
          rows_[next_] = std::nullopt;
          if (!hint_ && why.who == PointFailure::machine) hint_ = why.hint;
          fail_next(why.who, why.message);
          add_known();
        });
    return std::move(hint_);
  }

 private:
  void add(IterationMetrics metrics) {
    SweepPoint point{plan_.axis_values[next_++], std::move(metrics), {}};
    point.measured = matching(result_.measured, point.metrics);
    on_point_.point(point);
    // Of thousands of points too many to keep, and no output of a sweep has them.
    point.metrics.buckets = std::vector<BucketMetrics>();
    result_.points.push_back(std::move(point));
    fail_refused();
  }

  // Points with the buckets of one that is known.
  void add_known() {
    while (next_ < plan_.points.size() && plan_.same_as[next_] != next_) {
      const auto& row = rows_.at(plan_.same_as[next_]);
      if (!row) {
        fail_next(PointFailure::machine, "has the buckets of a point that failed");
        continue;
      }
      auto metrics = result_.points[*row].metrics;
      auto own = plan_.points[next_].scenario().plan;
      metrics.bucket_cap = own.bucket_cap;
      metrics.first_bucket_cap = own.first_bucket_cap;
      add(std::move(metrics));
    }
  }

  void fail(FailedPoint point) {
    point.before = result_.points.size();
    on_point_.failed(point);
    result_.failed.push_back(std::move(point));
  }

  void fail_next(PointFailure who, const std::string& error) {
    fail({plan_.axis_values[next_++], who, error});
    fail_refused();
  }

  void fail_refused() {
    while (refused_ != plan_.refused.end() && refused_->before <= next_) fail(*refused_++);
  }

  const SweepPlan& plan_;
  SweepResult& result_;
  const OnSweepPoint& on_point_;
  std::vector<FailedPoint>::const_iterator refused_;
  std::size_t next_ = 0;                                         // row
  std::map<std::size_t, std::optional<std::size_t>> rows_ = {};  // of simulated points: where their result is
  std::optional<std::string> hint_ = {};
};

}  // namespace

SweepResult begin_sweep(const SweepPlan& plan, const std::string& title, const std::vector<Note>& more) {
  SweepResult result;
  if (const auto& path = plan.scenarios.front().validation.measured)
    result.measured = read_measured_iterations(*path);
  result.title = title;
  result.draws = plan.points.front().draws;
  result.notes = notes_of(plan.scenarios, plan.points);
  result.notes.insert(result.notes.begin(), more.begin(), more.end());
  for (const auto& axis : plan.axes) result.axes.push_back(axis.key);
  return result;
}

std::optional<std::string> run_sweep(const SweepPlan& plan, unsigned jobs, SweepResult& result,
                                     const OnSweepPoint& on_point) {
  auto hint = SweepRows(plan, result, on_point).run(jobs);
  add_odds(result);
  if (!result.points.empty()) return hint;
  if (hint) fail_lost(result, *hint);
  throw InputError::rendered(result.failed.front().error);
}

std::vector<Note> unmatched_notes(const SweepResult& result) {
  if (result.measured.empty()) return {};
  std::vector<IterationMetrics> predictions;
  for (const auto& point : result.points) predictions.push_back(point.metrics);
  return unmatched_notes(result.measured, predictions);
}

// Names the first few.
std::string lost_text(const SweepResult& result) {
  constexpr std::size_t kMostNamed = 8;
  std::string message = result.points.empty() ? "no point could be simulated" : result.failed_note();
  std::size_t lost = 0;
  for (const auto& point : result.failed) {
    if (point.who != PointFailure::machine || ++lost > kMostNamed) continue;
    std::vector<std::string> values;
    for (std::size_t axis = 0; axis < result.axes.size(); ++axis)
      values.push_back(fmt::format("{} = {}", result.axes[axis], point.axis_values[axis]));
    message += fmt::format("\n  {}: {}", fmt::join(values, ", "), point.error);
  }
  if (lost > kMostNamed) message += fmt::format("\n  and {} more", lost - kMostNamed);
  return message;
}

void fail_lost(const SweepResult& result, const std::string& hint) {
  throw EnvironmentError(lost_text(result), hint);
}

void add_default_caps(SweepResult& result, const std::string& path, const config::Value& root,
                      const std::vector<config::SweepAxis>& axes, unsigned jobs) {
  if (!result.find_axis(kBucketCapAxis) || result.points.empty()) return;
  Files files(path);
  auto groups = result.best_by_group();
  groups.resize(std::min(groups.size(), kMostCompared));
  std::vector<std::size_t> points;
  std::vector<Scenario> scenarios;
  for (auto best : groups) {
    auto at_best = root;
    set_point(at_best, result, result.points[best], axes);
    if (auto cap = round_cap(at_best, files, result.points[best].metrics))
      result.round_caps.emplace(best, *cap);
    auto scenario = with_default_cap(std::move(at_best), files, result.points[best].metrics);
    if (!scenario) continue;
    points.push_back(best);
    scenarios.push_back(*std::move(scenario));
  }
  auto variants = unchanged(scenarios);
  for (auto& variant : variants) variant.draws = result.draws;
  run_points(
      variants, jobs,
      [&](std::size_t i, const Prediction&, const IterationMetrics& metrics) {
        const auto& plan = scenarios[i].plan;
        result.with_default.emplace(points[i],
                                    WithDefaultCap{*plan.bucket_cap, plan.first_bucket_cap, metrics.iteration,
                                                   odds_against(metrics, result.points[points[i]].metrics)});
      },
      [](std::size_t, const EnvironmentError&) {});  // what the machine did not let end stays out
}

void check_formulas(const SweepPlan& plan, const SourceSpan& place) {
  if (std::none_of(plan.axes.begin(), plan.axes.end(),
                   [](const AxisValues& axis) { return axis.key == kBucketCapAxis; }))
    throw InputError(place, "the textbook's formula is of bucket caps, and none are swept",
                     "add 'sweep:' with ddp.bucket_cap: {from: 1MiB, to: 1GiB, points: 30, spacing: log}");
  for (const auto& scenario : plan.scenarios) {
    if (!scenario.is(&StrategyTraits::is_ddp) || scenario.parallel)
      throw InputError(place,
                       "the textbook's formula is of all-reduces under the backward pass: strategy ddp",
                       "leave out --formula, or the other strategies and 'parallelism'");
    if (scenario.plan.low_rank)
      throw InputError(place,
                       "PowerSGD sends what does not grow with a bucket's bytes alone: no formula is known",
                       "leave out --formula, or the hook");
  }
}

void add_formulas(SweepResult& result, const std::string& path, const config::Value& root,
                  const std::vector<config::SweepAxis>& axes) {
  Files files(path);
  for (const auto& group : result.groups(result.find_axis(kBucketCapAxis))) {
    auto best = result.best_of(group.points);
    auto at_best = root;
    set_point(at_best, result, result.points[best], axes);
    std::vector<Bytes> caps;
    for (auto point : group.points) caps.push_back(*result.points[point].metrics.bucket_cap);
    result.formulas.emplace(best, formula_of(resolve(files, at_best), caps));
  }
}

std::string sweep_page(const SweepResult& result, const ScenarioInfo& scenario,
                       const std::vector<std::string>& options, const std::string& path, config::Value root,
                       const std::vector<config::SweepAxis>& axes, const InputLog& inputs) {
  SweepReport report{scenario, options, tool_info(), {}, {}};
  Files files(path);
  set_point(root, result, result.points[result.best()], axes);
  std::ostringstream explanation;
  explain(explanation, path, path, root, simulate_once(resolve(files, root)).metrics);
  report.explanation = explanation.str();
  report.inputs = inputs.files();
  for (auto& file : report.inputs) file.path = shown_path(file.path);
  return sweep_html(result, report);
}

}  // namespace ddpsim
