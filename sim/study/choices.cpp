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
  constexpr std::string_view kSplits[] = {
      "parallelism", "pipeline", "tensor", "context", "expert", "workload.micro_batch", "workload.recompute"};
  auto starts_axis = [&](std::string_view start) {
    return axis.starts_with(start) && (axis.size() == start.size() || axis[start.size()] == '.');
  };
  if (axis.starts_with(kBucketCapAxis) || is_reduction_size(axis)) return "cap";
  return std::ranges::any_of(kSplits, starts_axis) ? "split" : "strategy";
}

std::vector<Trait> traits_of(const SweepResult& result, const SweepPoint& point,
                             const std::vector<bool>& is_given) {
  std::vector<Trait> traits;
  for (std::size_t axis = 0; axis < result.axes.size(); ++axis) {
    if (is_given[axis]) continue;
    const auto& key = result.axes[axis];
    traits.push_back(key == kBucketCapAxis ? cap_trait(point.metrics)
                                           : trait_of(key, point.axis_values[axis]));
  }
  return traits;
}

Unknowns own_errors(const Way& way) {
  Unknowns own;
  const auto* evidence = way.metrics->uncertainty->evidence();
  if (!evidence) return own;
  // What was judged of splits is of whole ones, whatever they differ in.
  std::vector<Trait> traits;
  for (const auto& trait : way.traits) {
    auto split = std::ranges::find(traits, "split", &Trait::of);
    if (trait.of == "split" && split != traits.end())
      split->value += fmt::format(", {} {}", trait.key, trait.value);
    else
      traits.push_back(trait);
  }
  for (const auto& [name, key, value] : traits) {
    const auto* of = find_evidence_class(Subject::choice, name);
    const auto* line = evidence->find(*of);
    if (!line) continue;
    auto unknown = unknown_of(*of, *line);
    unknown.name += fmt::format(": {} {}", key, value);
    unknown.is_heavy = true;
    own[key] = std::move(unknown);
  }
  return own;
}

std::vector<Seconds> times_of(const Way& way) {
  auto times = way.metrics->uncertainty->times();
  auto errors = draws_of({Seconds(1)}, own_errors(way), times.size());
  for (std::size_t i = 0; i < times.size(); ++i) times[i] = errors[i].value() * times[i];
  return times;
}

}  // namespace

Trait trait_of(const std::string& key, const std::string& value) {
  return {class_of_axis(key), key, value};
}

Trait cap_trait(const IterationMetrics& metrics) {
  return {"cap", std::string(kBucketCapAxis), fmt::format("2^{}", std::bit_width(metrics.n_buckets))};
}

std::vector<Odds> odds_of(std::span<const Way> ways) {
  std::vector<std::vector<Seconds>> times;
  for (const auto& way : ways) {
    // What is simulated to the same is one way by two names, whose errors are the same.
    auto same = std::ranges::find_if(ways.first(times.size()), [&](const Way& other) {
      return other.metrics->iteration == way.metrics->iteration &&
             other.metrics->uncertainty->times() == way.metrics->uncertainty->times();
    });
    auto known = static_cast<std::size_t>(same - ways.begin());
    times.push_back(known < times.size() ? times[known] : times_of(way));
  }
  Choice choice(std::move(times));
  auto tied = choice.ties(choice.best());
  std::vector<Odds> odds;
  for (std::size_t i = 0; i < ways.size(); ++i)
    odds.push_back({choice.probability()[i], choice.regret()[i], std::ranges::binary_search(tied, i)});
  return odds;
}

std::optional<Odds> odds_against(const IterationMetrics& cap, const IterationMetrics& other) {
  bool are_same = cap.iteration == other.iteration && cap.n_buckets == other.n_buckets;
  if (!cap.uncertainty || !other.uncertainty || are_same) return std::nullopt;
  return odds_of(std::vector<Way>{{&cap, {cap_trait(cap)}}, {&other, {cap_trait(other)}}}).front();
}

void add_odds(SweepResult& result) {
  auto is_given = result.given_axes();
  std::map<std::vector<std::string>, std::vector<std::size_t>> jobs;  // by values on given axes
  for (std::size_t i = 0; i < result.points.size(); ++i) {
    const auto& point = result.points[i];
    bool fits = !point.metrics.memory || point.metrics.memory->fits();
    if (!point.metrics.uncertainty || !fits) continue;
    std::vector<std::string> given;
    for (std::size_t axis = 0; axis < result.axes.size(); ++axis)
      if (is_given[axis]) given.push_back(point.axis_values[axis]);
    jobs[std::move(given)].push_back(i);
  }
  for (const auto& [given, points] : jobs) {
    std::vector<Way> ways;
    for (auto i : points)
      ways.push_back({&result.points[i].metrics, traits_of(result, result.points[i], is_given)});
    auto odds = odds_of(ways);
    for (std::size_t i = 0; i < points.size(); ++i) result.points[points[i]].odds = odds[i];
  }
}

}  // namespace ddpsim
