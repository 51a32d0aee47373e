#include <algorithm>
#include <array>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/report/charts.hpp"

namespace ddpsim {
namespace {

struct Term {
  const char* title;
  Seconds IterationMetrics::*time;
  const char* colour;
};

// In the order in which they happen, which is bottom to top.
constexpr std::array<Term, 7> kTerms{{
    {"forward", &IterationMetrics::forward, "#9ecae1"},
    {"backward", &IterationMetrics::backward_compute, "#4292c6"},
    {"interference", &IterationMetrics::interference, "#807dba"},
    {"overhead", &IterationMetrics::overhead, "#bcbddc"},
    {"pipeline bubble", &IterationMetrics::bubble, "#fdd0a2"},
    {"exposed communication", &IterationMetrics::exposed_communication, "#e6550d"},
    {"optimizer", &IterationMetrics::optimizer, "#a1d99b"},
}};

// Of the distance between two bars.
constexpr double kHalfBar = 0.32;
constexpr double kMeasuredShift = 0.41;  // beside the bar, so that its total stays readable

// The axes that tell points apart.
std::vector<std::size_t> changing_axes(const SweepResult& result) {
  std::vector<std::size_t> changing;
  for (std::size_t axis = 0; axis < result.axes.size(); ++axis)
    if (std::any_of(result.points.begin(), result.points.end(), [&](const auto& point) {
          return point.axis_values.at(axis) != result.points.front().axis_values.at(axis);
        }))
      changing.push_back(axis);
  return changing;
}

std::string joined(const std::vector<std::string>& texts, const std::vector<std::size_t>& which) {
  std::vector<std::string> chosen;
  for (auto i : which) chosen.push_back(texts[i]);
  return fmt::format("{}", fmt::join(chosen, ", "));
}

// A box a point for each term that some point has, on top of those before.
void add_terms(const SweepResult& result, const TimeScale& scale, Chart& chart) {
  std::vector<Seconds> tops(result.points.size());
  for (const auto& term : kTerms) {
    Series series{term.title, Shape::boxes, {term.colour}};
    bool some = false;
    for (std::size_t i = 0; i < tops.size(); ++i) {
      auto bottom = tops[i], time = result.points[i].metrics.*term.time;
      tops[i] += time;
      some = some || time != Seconds();
      auto x = static_cast<double>(i);
      series.points.push_back({x, 0, scale.value(bottom), scale.value(tops[i]), x - kHalfBar, x + kHalfBar});
    }
    if (some) chart.series.push_back(std::move(series));
  }
}

}  // namespace

Seconds longest_time(const SweepResult& result) {
  Seconds longest;
  for (const auto& point : result.points) {
    longest = std::max(longest, point.metrics.iteration);
    if (const auto& row = point.measured)
      longest = std::max(longest, row->iteration + row->spread.value_or(Seconds()));
  }
  return longest;
}

Chart bar_chart(const SweepResult& result) {
  auto axes = changing_axes(result);
  auto longest = longest_time(result);
  auto scale = TimeScale::for_longest(longest);
  Chart chart{.title = result.title, .note = result.trace_note()};
  chart.x = {joined(result.axes, axes), -0.7, static_cast<double>(result.points.size()) - 0.3};
  chart.x.has_names = true;
  chart.y = {fmt::format("iteration time ({})", scale.unit), 0, 1.1 * scale.value(longest)};
  add_terms(result, scale, chart);
  Series measured{"measured", Shape::upright, {"#111111", 1.8, {}, Marker::square}};
  for (std::size_t i = 0; i < result.points.size(); ++i) {
    const auto& point = result.points[i];
    auto x = static_cast<double>(i), time = scale.value(point.metrics.iteration);
    chart.x.tics.push_back({x, shortened(joined(point.axis_values, axes), 34)});
    chart.texts.push_back({x, time, fmt::format("{:.4g}", time), "#222222", 10, 1});
    if (const auto& row = point.measured) {
      auto y = scale.value(row->iteration), spread = scale.value(row->spread.value_or(Seconds()));
      measured.points.push_back({x + kMeasuredShift, y, y - spread, y + spread});
    }
  }
  if (!measured.points.empty()) chart.series.push_back(std::move(measured));
  return chart;
}

Chart sweep_chart(const SweepResult& result) {
  auto axis = line_axis(result);
  return axis ? line_chart(result, *axis) : bar_chart(result);
}

}  // namespace ddpsim
