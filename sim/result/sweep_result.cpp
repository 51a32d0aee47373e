#include "sim/result/sweep_result.hpp"

#include <algorithm>
#include <functional>
#include <iterator>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <set>

#include <fmt/core.h>

#include "sim/base/check.hpp"
#include "sim/base/one_line.hpp"
#include "sim/ddp/ddp_rules.hpp"
#include "sim/result/synthetic_note.hpp"

namespace ddpsim {
namespace {

// Smaller is preferred: PyTorch's default, then caps by size. No cap is no limit, so it counts as the
// largest.
double preference(const SweepPoint& point) {
  auto cap = point.metrics.bucket_cap.value_or(Bytes(std::numeric_limits<double>::infinity()));
  return cap == kDefaultBucketCap ? -1 : cap.value();
}

bool fits(const SweepPoint& point) {
  return !point.metrics.memory || point.metrics.memory->fits();
}

// `candidates` is not empty.
std::size_t fastest_of(const std::vector<SweepPoint>& points, const std::vector<std::size_t>& candidates) {
  Seconds shortest = points[candidates.front()].metrics.iteration;
  for (auto i : candidates) shortest = std::min(shortest, points[i].metrics.iteration);
  // Against the shortest of all, so that a chain of almost equal points cannot drift away from it.
  std::optional<std::size_t> best;
  for (auto i : candidates) {
    if (points[i].metrics.iteration > shortest * (1 + 1e-12)) continue;
    if (!best || preference(points[i]) < preference(points[*best])) best = i;
  }
  return *best;
}

std::vector<std::size_t> those(const std::vector<std::size_t>& candidates,
                               const std::function<bool(std::size_t)>& are_meant) {
  std::vector<std::size_t> found;
  std::copy_if(candidates.begin(), candidates.end(), std::back_inserter(found), are_meant);
  return found;
}

// Of least regret, of those that draws do not tell apart by it the fastest; unless the default cap and
// strategy, all else being equal, cannot be told apart from it.
std::size_t surest_of(const SweepResult& result, const std::vector<std::size_t>& candidates) {
  auto cap = result.find_axis(kBucketCapAxis), strategy = result.find_axis(kStrategyAxis);
  auto is_default = [&](const SweepPoint& point) {
    return (cap || strategy) && (!cap || point.metrics.bucket_cap == kDefaultBucketCap) &&
           (!strategy || point.metrics.strategy == &usual_strategy());
  };
  auto regret = [&](std::size_t i) { return result.points[i].odds->regret; };
  double least = regret(*std::ranges::min_element(candidates, {}, regret));
  auto surest =
      fastest_of(result.points, those(candidates, [&](auto i) { return regret(i) <= least + kRegretNoise; }));
  auto others = [&](std::size_t i) {
    auto values = result.points[i].axis_values;
    for (auto axis : {cap, strategy})
      if (axis) values[*axis].clear();
    return values;
  };
  for (auto i : candidates)
    if (const auto& point = result.points[i];
        point.odds->is_tied && is_default(point) && others(i) == others(surest))
      return i;
  return surest;
}

std::vector<std::size_t> all_of(const std::vector<SweepPoint>& points) {
  std::vector<std::size_t> all(points.size());
  std::iota(all.begin(), all.end(), std::size_t{0});
  return all;
}

}  // namespace

std::string FailedPoint::reason() const {
  constexpr std::string_view kBefore = "error: ";
  auto line = error.substr(0, error.find('\n'));
  auto found = line.find(kBefore);
  return found == std::string::npos ? line : line.substr(found + kBefore.size());
}

std::string FailedPoint::hint() const {
  constexpr std::string_view kBefore = "\nhint: ";
  auto found = error.rfind(kBefore);
  return found == std::string::npos ? std::string() : error.substr(found + kBefore.size());
}

std::size_t SweepResult::best_of(const std::vector<std::size_t>& candidates) const {
  DDPSIM_CHECK(!candidates.empty(), "a best point is one of some");
  auto fitting = those(candidates, [&](std::size_t i) { return fits(points[i]); });
  const auto& compared = fitting.empty() ? candidates : fitting;
  bool has_odds = std::ranges::all_of(compared, [&](std::size_t i) { return points[i].odds.has_value(); });
  return has_odds ? surest_of(*this, compared) : fastest_of(points, compared);
}

std::size_t SweepResult::best() const {
  return best_of(all_of(points));
}

std::size_t SweepResult::fastest() const {
  return fastest_of(points, all_of(points));
}

std::vector<std::size_t> SweepResult::best_by_group() const {
  std::vector<std::size_t> best;
  for (const auto& group : groups(find_axis(kBucketCapAxis))) best.push_back(best_of(group.points));
  return best;
}

std::string SweepResult::failed_note() const {
  if (failed.empty()) return {};
  return fmt::format("{} of {} points could not be simulated; best is among the rest", failed.size(),
                     failed.size() + points.size());
}

std::vector<std::string> SweepResult::failed_reasons() const {
  constexpr std::size_t kMost = 4;
  std::vector<std::string> lines;
  std::set<std::string> known;
  for (const auto& point : failed) {
    auto reason = point.reason(), hint = one_line(point.hint());
    if (!known.insert(reason).second) continue;
    if (lines.size() == kMost) break;
    lines.push_back(fmt::format("{}: {}{}{}", fmt::join(point.axis_values, ", "), reason,
                                hint.empty() ? "" : ": ", hint));
  }
  return lines;
}

std::string SweepResult::trace_note() const {
  return synthetic_note(
      points, [](const SweepPoint& point) -> const auto& { return point.metrics; });
}

bool SweepResult::is_given(std::string_view axis) {
  // The same work in other pieces, unless changes_work().
  if (axis == "workload.micro_batch" || axis == "workload.recompute") return false;
  return axis.starts_with("cluster.") || axis.starts_with("workload.") || axis.starts_with("variability.") ||
         axis.starts_with("physics.") || axis == "evidence" || axis == "expert.imbalance" ||
         axis.starts_with("collective.scale");
}

bool SweepResult::changes_work(std::size_t axis) const {
  std::map<std::vector<std::string>, double> samples;  // of an iteration, by the values on the other axes
  for (const auto& point : points) {
    if (!point.metrics.samples) continue;
    auto others = point.axis_values;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(axis));
    auto known = samples.emplace(std::move(others), *point.metrics.samples).first->second;
    if (*point.metrics.samples != known) return true;
  }
  return false;
}

std::vector<bool> SweepResult::given_axes() const {
  std::vector<bool> given;
  for (std::size_t axis = 0; axis < axes.size(); ++axis)
    given.push_back(is_given(axes[axis]) || changes_work(axis) || is_without_hosts(axes[axis]));
  return given;
}

bool SweepResult::is_without_hosts(std::string_view axis) const {
  return axis == kBackendAxis && std::any_of(notes.begin(), notes.end(),
                                             [](const Note& note) { return note.code == kGlooWithoutHosts; });
}

bool SweepResult::compares_choices() const {
  auto given = given_axes();
  return std::find(given.begin(), given.end(), true) == given.end();
}

bool SweepResult::varies() const {
  return std::any_of(points.begin(), points.end(),
                     [](const SweepPoint& point) { return point.metrics.spread.has_value(); });
}

std::optional<std::size_t> SweepResult::find_axis(std::string_view key) const {
  auto found = std::find(axes.begin(), axes.end(), key);
  if (found == axes.end()) return std::nullopt;
  return static_cast<std::size_t>(found - axes.begin());
}

std::vector<SweepGroup> SweepResult::groups(std::optional<std::size_t> free) const {
  std::vector<SweepGroup> groups;
  for (std::size_t i = 0; i < points.size(); ++i) {
    DDPSIM_CHECK(points[i].axis_values.size() == axes.size(), "a point has one value an axis");
    std::string name;
    for (std::size_t axis = 0; free && axis < axes.size(); ++axis)
      if (axis != *free)
        name += fmt::format("{}{} = {}", name.empty() ? "" : ", ", axes[axis], points[i].axis_values[axis]);
    auto group = std::find_if(groups.begin(), groups.end(), [&](const auto& g) { return g.name == name; });
    if (group == groups.end()) group = groups.insert(group, {std::move(name), {}});
    group->points.push_back(i);
  }
  return groups;
}

}  // namespace ddpsim
