#include "sim/study/choices.hpp"

#include <algorithm>
#include <bit>
#include <map>
#include <vector>

#include <fmt/format.h>

#include "sim/evidence/choice.hpp"
#include "sim/job/rows/table.hpp"

namespace ddpsim {
namespace {

// Sizes are alike in what is simulated wrongly; what differs in its code is as another strategy.
std::string_view class_of_axis(std::string_view axis) {
  constexpr std::string_view kSplits[] = {"parallelism.",      "pipeline.", "tensor.",
                                          "context.",          "expert.",   "workload.micro_batch",
                                          "workload.recompute"};
  auto starts_axis = [&](std::string_view start) { return axis.starts_with(start); };
  if (axis.starts_with(kBucketCapAxis) || is_reduction_size(axis)) return "cap";
  return std::ranges::any_of(kSplits, starts_axis) ? "split" : "strategy";
}

// Errors of a point's own: of each axis' value one, which points with that value share. Caps are alike that
// give as many buckets, within a factor of two.
Unknowns own_errors(const SweepResult& result, const SweepPoint& point, const std::vector<bool>& is_given) {
  Unknowns own;
  const auto* evidence = point.metrics.uncertainty->evidence();
  if (!evidence) return own;
  for (std::size_t axis = 0; axis < result.axes.size(); ++axis) {
    if (is_given[axis]) continue;
    const auto& key = result.axes[axis];
    const auto* of = find_evidence_class(Subject::choice, class_of_axis(key));
    const auto* line = evidence->find(*of);
    if (!line) continue;
    auto unknown = unknown_of(*of, *line);
    auto value = point.axis_values[axis];
    if (key == kBucketCapAxis) value = fmt::format("2^{}", std::bit_width(point.metrics.n_buckets));
    unknown.name += fmt::format(": {} {}", key, value);
    unknown.is_heavy = true;
    own[key] = std::move(unknown);
  }
  return own;
}

std::vector<Seconds> times_of(const SweepPoint& point, const Unknowns& own) {
  auto times = point.metrics.uncertainty->times();
  auto errors = draws_of({Seconds(1)}, own, times.size());
  for (std::size_t i = 0; i < times.size(); ++i) times[i] = errors[i].value() * times[i];
  return times;
}

void add_odds(const std::vector<bool>& is_given, const std::vector<std::size_t>& ways, SweepResult& result) {
  std::vector<std::vector<Seconds>> times;
  for (auto way : ways)
    times.push_back(times_of(result.points[way], own_errors(result, result.points[way], is_given)));
  Choice choice(std::move(times));
  auto tied = choice.ties(choice.best());
  for (std::size_t i = 0; i < ways.size(); ++i)
    result.points[ways[i]].odds = {choice.probability()[i], choice.regret()[i],
                                   std::ranges::binary_search(tied, i)};
}

}  // namespace

void add_odds(SweepResult& result) {
  auto is_given = result.given_axes();
  std::map<std::vector<std::string>, std::vector<std::size_t>> jobs;  // by values on given axes
  for (std::size_t i = 0; i < result.points.size(); ++i) {
    const auto& point = result.points[i];
    bool fits = !point.metrics.memory || point.metrics.memory->fits();
    if (!point.metrics.uncertainty || !fits || !result.is_ranked(i)) continue;
    std::vector<std::string> given;
    for (std::size_t axis = 0; axis < result.axes.size(); ++axis)
      if (is_given[axis]) given.push_back(point.axis_values[axis]);
    jobs[std::move(given)].push_back(i);
  }
  for (const auto& [given, ways] : jobs) add_odds(is_given, ways, result);
}

}  // namespace ddpsim
