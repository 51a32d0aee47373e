#include "sim/report/verdict.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <span>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/quantity.hpp"
#include "sim/report/cap_advice.hpp"
#include "sim/report/table_parts.hpp"

namespace ddpsim {
namespace {

// How sure it is that the best is that, and what cannot be told apart from it.
std::string odds_line(const SweepResult& result, std::size_t best) {
  constexpr std::size_t kMostNamed = 3;
  const auto& odds = result.points[best].odds;
  if (!odds || result.points.size() == 1) return {};
  auto name = point_name(result.axes, result.points[best].axis_values, result.points[best].metrics);
  auto line = fmt::format("{}: {:.0f} % sure that it is the fastest; it loses {:.1f} % on average", name,
                          100 * odds->p_best, 100 * odds->regret);
  std::vector<std::string> ties;
  for (std::size_t i = 0; i < result.points.size(); ++i) {
    const auto& point = result.points[i];
    if (i != best && point.odds && point.odds->is_tied)
      ties.push_back(
          fmt::format("{}", fmt::join(axis_cells(result.axes, point.axis_values, point.metrics), " ")));
  }
  if (ties.empty()) return line;
  auto named = std::span(ties).first(std::min(ties.size(), kMostNamed));
  line += fmt::format("; not told apart: {}", fmt::join(named, result.axes.size() == 1 ? ", " : "; "));
  if (named.size() < ties.size()) line += fmt::format(" and {} more", ties.size() - named.size());
  return line;
}

// Where memory decides, or nothing fits.
std::string memory_line(const SweepResult& result) {
  const auto& best = result.points[result.best()].metrics;
  const auto& fastest = result.points[result.fastest()];
  if (best.memory && !best.memory->fits())
    return fmt::format("none of the points {} a GPU's memory: 'ddpsim memory' says what would",
                       best.memory->fit() == Fit::maybe ? "surely fits into" : "fits into");
  if (fastest.metrics.iteration >= best.iteration || !fastest.metrics.memory ||
      fastest.metrics.memory->fits())
    return "";
  return fmt::format("(faster, but {} into a GPU's memory: {}{}{})", fit_word(fastest.metrics.memory->fit()),
                     point_name(result.axes, fastest.axis_values, fastest.metrics),
                     result.axes.empty() ? "" : ", ", format_seconds(fastest.metrics.iteration));
}

std::string extent_line(const SweepResult& result) {
  auto shorter = [](const SweepPoint& a, const SweepPoint& b) {
    return a.metrics.iteration < b.metrics.iteration;
  };
  auto [least, most] = std::minmax_element(result.points.begin(), result.points.end(), shorter);
  auto named = [&](const SweepPoint& point) {
    return fmt::format("{} ({})", format_seconds(point.metrics.iteration),
                       point_name(result.axes, point.axis_values, point.metrics));
  };
  if (least->metrics.iteration == most->metrics.iteration)
    return fmt::format("iteration: {} everywhere", format_seconds(least->metrics.iteration));
  return fmt::format("iteration: {} to {}", named(*least), named(*most));
}

std::string best_line(const SweepResult& result) {
  const auto& best = result.points[result.best()];
  auto worst = best.metrics.iteration;
  for (const auto& point : result.points) worst = std::max(worst, point.metrics.iteration);
  auto name = point_name(result.axes, best.axis_values, best.metrics);
  auto line = fmt::format("best: {}{}{}", name, name.empty() ? "" : ", ", likely_text(best.metrics));
  if (result.best_by_group().size() == 1 && worst > best.metrics.iteration * 1.0005)
    line += fmt::format(", {:.1f} % shorter than the longest", 100 * (1 - best.metrics.iteration / worst));
  return line;
}

std::vector<std::string> best_lines(const SweepResult& result) {
  auto caps = result.best_by_group().size() == 1 ? cap_advice(result) : std::vector<CapAdvice>();
  std::vector<std::string> lines{caps.empty() ? best_line(result) : cap_verdict(result, caps.front())};
  auto best = result.best();
  if (auto line = memory_line(result); !line.empty()) lines.push_back(std::move(line));
  if (auto line = odds_line(result, best); !line.empty()) lines.push_back(std::move(line));
  if (const auto& sure = result.points[best].metrics.uncertainty)
    lines.push_back(fmt::format("in doubt: {}", fmt::join(sure->phrases(), "; ")));
  return lines;
}

constexpr std::size_t kMostGroups = 8;

// A faster link that gains no more than this is not needed.
constexpr double kNoGain = 0.02;

// Of a link's bandwidth, from where on more gains nothing on any of the other values.
std::string enough_line(const SweepResult& result) {
  auto axis = std::ranges::find_if(result.axes, [](const auto& key) {
    return key.starts_with("cluster.") && key.ends_with(".bandwidth");
  });
  if (axis == result.axes.end()) return {};
  auto place = static_cast<std::size_t>(axis - result.axes.begin());
  std::map<std::vector<std::string>, Seconds> best;  // by the other values
  auto others = [&](const SweepPoint& point) {
    auto values = point.axis_values;
    values[place].clear();
    return values;
  };
  for (const auto& point : result.points) {
    auto& least = best.try_emplace(others(point), point.metrics.iteration).first->second;
    least = std::min(least, point.metrics.iteration);
  }
  struct Value {
    std::string text;
    double least, most;  // longer than the best
  };
  std::map<BytesPerSecond, Value> values;
  for (const auto& point : result.points) {
    const auto& text = point.axis_values[place];
    double longer = point.metrics.iteration / best.at(others(point)) - 1;
    auto& value = values.try_emplace(parse_bandwidth({text, {}}), Value{text, longer, longer}).first->second;
    value.least = std::min(value.least, longer);
    value.most = std::max(value.most, longer);
  }
  auto enough = std::ranges::find_if(values, [](const auto& one) { return one.second.most <= kNoGain; });
  if (values.size() < 2 || enough == values.end()) return {};
  auto cost_of_below = [&] {
    const auto& below = std::prev(enough)->second;
    return fmt::format("{} costs {:.1f}{} %", below.text, 100 * below.least,
                       below.most - below.least < 5e-4 ? "" : fmt::format(" to {:.1f}", 100 * below.most));
  };
  if (std::next(enough) == values.end())
    return fmt::format("the faster {} is, the better: {} against {}", *axis, cost_of_below(),
                       enough->second.text);
  auto line = fmt::format("{} {} is enough: {} gains no more than {:.1f} %", *axis, enough->second.text,
                          values.rbegin()->second.text, 100 * enough->second.most);
  return enough == values.begin() ? line : fmt::format("{}; {}", line, cost_of_below());
}

// "strategy fsdp, ddp.bucket_cap 25MiB": a point's values on the axes that are given, or on the others.
std::string values_on(const SweepResult& result, std::size_t point, const std::vector<bool>& is_given,
                      bool given) {
  std::vector<std::string> axes, values;
  for (std::size_t axis = 0; axis < result.axes.size(); ++axis)
    if (is_given[axis] == given) {
      axes.push_back(result.axes[axis]);
      values.push_back(result.points[point].axis_values[axis]);
    }
  return point_name(axes, values, result.points[point].metrics);
}

// "8, 64" along a single axis that is given; else the values with their axes.
std::string places(const SweepResult& result, const std::vector<bool>& is_given,
                   const std::vector<std::string>& where, std::size_t most) {
  auto named = std::vector<std::string>(
      where.begin(), where.begin() + static_cast<std::ptrdiff_t>(std::min(where.size(), most)));
  bool is_one_axis = std::count(is_given.begin(), is_given.end(), true) == 1;
  const auto& axis = result.axes[static_cast<std::size_t>(std::find(is_given.begin(), is_given.end(), true) -
                                                          is_given.begin())];
  for (std::size_t i = 1; is_one_axis && i < named.size(); ++i) named[i].erase(0, axis.size() + 1);
  return fmt::format(
      "{}{}", fmt::join(named, is_one_axis ? ", " : "; "),
      named.size() < where.size() ? fmt::format(" and {} more", where.size() - named.size()) : "");
}

std::string choice_of(const SweepResult& result, std::size_t best, const std::vector<bool>& is_given) {
  const auto& memory = result.points[best].metrics.memory;
  if (!memory || memory->fits()) return values_on(result, best, is_given, false);
  return memory->fit() == Fit::maybe ? "nothing surely fits into a GPU's memory"
                                     : "nothing fits into a GPU's memory";
}

// ", by 2.0 to 2.2 %": how much longer the next takes that fits; empty where there is none.
std::string lead_text(const SweepResult& result, const std::vector<std::vector<std::size_t>>& jobs) {
  std::vector<double> leads;
  for (const auto& points : jobs) {
    auto best = result.best_of(points);
    std::optional<double> next;
    for (auto i : points) {
      const auto& m = result.points[i].metrics;
      if (i == best || (m.memory && !m.memory->fits())) continue;
      double longer = m.iteration / result.points[best].metrics.iteration - 1;
      next = std::min(next.value_or(longer), longer);
    }
    if (!next || *next < 0) return {};
    leads.push_back(*next);
  }
  auto [least, most] = std::ranges::minmax(leads);
  if (most < 5e-4) return {};
  return most - least < 5e-4 ? fmt::format(", by {:.1f} %", 100 * least)
                             : fmt::format(", by {:.1f} to {:.1f} %", 100 * least, 100 * most);
}

// What is best on each cluster or workload, those with the same choice together.
std::vector<std::string> best_by_given(const SweepResult& result, const std::vector<bool>& is_given) {
  constexpr std::size_t kMostNamed = 8;
  struct Given {
    std::string name;
    std::vector<std::size_t> points;
  };
  std::vector<Given> all;
  for (std::size_t i = 0; i < result.points.size(); ++i) {
    auto name = values_on(result, i, is_given, true);
    auto one = std::find_if(all.begin(), all.end(), [&](const Given& given) { return given.name == name; });
    if (one == all.end()) one = all.insert(one, {std::move(name), {}});
    one->points.push_back(i);
  }
  std::vector<std::vector<std::size_t>> jobs;
  for (const auto& one : all) jobs.push_back(one.points);
  struct Choice {
    std::string name;
    std::vector<std::string> where;
  };
  std::vector<Choice> choices;
  for (const auto& [name, points] : all) {
    auto best = result.best_of(points);
    auto chosen = choice_of(result, best, is_given);
    auto one = std::find_if(choices.begin(), choices.end(),
                            [&](const Choice& choice) { return choice.name == chosen; });
    if (one == choices.end()) one = choices.insert(one, {std::move(chosen), {}});
    one->where.push_back(name);
  }
  if (choices.size() == 1)
    return {fmt::format("best everywhere: {}{}", choices.front().name, lead_text(result, jobs))};
  std::vector<std::string> lines;
  for (const auto& [name, where] : choices)
    lines.push_back(fmt::format("best at {}: {}", places(result, is_given, where, kMostNamed), name));
  if (lines.size() > kMostNamed) {
    auto more = lines.size() - kMostNamed;
    lines.resize(kMostNamed);
    lines.push_back(fmt::format("and {} more: the best of each is in --json", more));
  }
  return lines;
}

// Where a choice changes how much an iteration does, the one that does most in a time; of those that fit.
std::string throughput_line(const SweepResult& result) {
  bool is_needed = false;
  for (std::size_t axis = 0; axis < result.axes.size(); ++axis)
    is_needed = is_needed || (!SweepResult::is_given(result.axes[axis]) && result.changes_work(axis));
  const SweepPoint* best = nullptr;
  for (std::size_t i = 0; i < result.points.size(); ++i) {
    const auto& point = result.points[i];
    const auto& m = point.metrics;
    if (!is_needed || !m.samples_per_s || (m.memory && !m.memory->fits())) continue;
    if (!best || *m.samples_per_s > *best->metrics.samples_per_s * (1 + 1e-12)) best = &point;
  }
  if (!best) return {};
  return fmt::format("iterations do different amounts of work; most samples a second: {} ({:.5g})",
                     point_name(result.axes, best->axis_values, best->metrics), *best->metrics.samples_per_s);
}

}  // namespace

std::vector<std::string> verdict_lines(const SweepResult& result) {
  auto is_given = result.given_axes();
  if (std::find(is_given.begin(), is_given.end(), true) == is_given.end()) return best_lines(result);
  std::vector<std::string> lines;
  bool only_given = true, only_caps = true;
  for (std::size_t axis = 0; axis < result.axes.size(); ++axis) {
    only_given = only_given && is_given[axis];
    only_caps = only_caps && (is_given[axis] || result.axes[axis] == kBucketCapAxis);
  }
  if (only_given) {
    if (auto line = enough_line(result); !line.empty()) lines.push_back(std::move(line));
    lines.push_back(extent_line(result));
  } else if (only_caps) {
    for (const auto& advice : cap_advice(result))
      if (lines.size() < kMostGroups)
        lines.push_back(fmt::format("{}: {}", advice.group, cap_verdict(result, advice)));
  } else {
    lines = best_by_given(result, is_given);
  }
  if (auto line = throughput_line(result); !line.empty()) lines.push_back(std::move(line));
  return lines;
}

}  // namespace ddpsim
