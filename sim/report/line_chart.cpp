#include <algorithm>
#include <cmath>
#include <functional>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/quantity.hpp"
#include "sim/report/charts.hpp"
#include "sim/result/measured_iterations.hpp"

namespace ddpsim {
namespace {

constexpr std::size_t kMostNamed = 12;  // in the legend
constexpr std::size_t kFewLines = 6;    // named in full, with a label at the best point
constexpr double kFar = 1e300;          // beyond every axis

std::optional<double> as_positive_number(const std::string& text) {
  Located located{text, {}};
  try {
    double value = parse_number(located, 0, 1e15);
    return value > 0 ? std::optional(value) : std::nullopt;
  } catch (const InputError&) {
    return std::nullopt;
  }
}

std::string without(const std::vector<std::string>& texts, std::size_t axis) {
  auto others = texts;
  others.erase(others.begin() + static_cast<std::ptrdiff_t>(axis));
  return fmt::format("{}", fmt::join(others, ", "));
}

// Which of the iterations, where they differ.
std::string of_iterations(const SweepResult& result) {
  const auto& spread = result.points.front().metrics.spread;
  return spread ? fmt::format(", {} of {}", reported_iteration_name(spread->report), spread->iterations) : "";
}

std::optional<Seconds> common_compute_time(const SweepResult& result) {
  auto compute = [](const SweepPoint& point) {
    return point.metrics.forward + point.metrics.backward_compute + point.metrics.optimizer;
  };
  auto first = compute(result.points.front());
  for (const auto& point : result.points)
    if (std::abs((compute(point) - first).value()) > 1e-9 * first.value()) return std::nullopt;
  return first;
}

class LineChart {
 public:
  LineChart(const SweepResult& result, std::size_t axis)
      : result_(result),
        axis_(axis),
        along_caps_(result.axes[axis] == kBucketCapAxis),
        scale_(TimeScale::for_longest(longest_time(result))),
        groups_(result.groups(axis)) {}

  [[nodiscard]] Chart chart() {
    chart_.title = result_.title;
    chart_.note = result_.trace_note();
    if (groups_.size() > kFewLines) chart_.legend_title = shortened(without(result_.axes, axis_), 100);
    if (auto compute = common_compute_time(result_); compute && *compute > Seconds())
      add_level("compute only", {"#888888", 1.2, "2 3"}, *compute);
    if (along_caps_) assign_measured_caps();
    for (std::size_t g = 0; g < groups_.size(); ++g) add_group(g);
    if (!measured_of_several_.empty()) add_measured(kNeutralColour, std::move(measured_of_several_));
    for (auto& best : bests_) chart_.series.push_back(std::move(best));
    add_legend();
    set_axes();
    return std::move(chart_);
  }

 private:
  [[nodiscard]] std::optional<double> place_of(const SweepPoint& point) const {
    if (!along_caps_) return as_positive_number(point.axis_values[axis_]);
    if (!point.metrics.bucket_cap) return std::nullopt;
    return point.metrics.bucket_cap->value();
  }

  [[nodiscard]] ChartPoint measured_at(double x, const MeasuredIteration& row) const {
    double y = scale_.value(row.iteration), spread = scale_.value(row.spread.value_or(Seconds()));
    return {x, y, std::max(y - spread, 0.0), y + spread};
  }

  [[nodiscard]] std::string title_of(std::size_t g) const {
    const auto& group = groups_[g];
    if (g >= kMostNamed) return {};
    if (groups_.size() > kFewLines)  // the axes' names are above
      return shortened(without(result_.points[group.points.front()].axis_values, axis_), 24);
    return group.name.empty() ? "predicted" : shortened(group.name, 100);
  }

  void add_level(const std::string& title, const Style& style, Seconds time) {
    auto y = scale_.value(time);
    chart_.series.push_back({title, Shape::line, style, {{-kFar, y}, {kFar, y}}});
  }

  using Ends = std::function<std::optional<Interval>(const IterationMetrics&)>;
  void add_band(const Style& style, const std::vector<const SweepPoint*>& points, const Ends& ends) {
    Series band{"", Shape::band, style};
    for (const auto* point : points)
      if (auto found = ends(point->metrics))
        band.points.push_back({*place_of(*point), scale_.value(point->metrics.iteration),
                               scale_.value(found->least), scale_.value(found->most)});
    if (band.points.empty()) return;
    has_band_ = true;
    chart_.series.push_back(std::move(band));
  }

  // Iterations that differ; or 80 % and, darker, 50 % of what may be.
  void add_bands(const Style& style, const std::vector<const SweepPoint*>& points) {
    add_band(style, points, [](const auto& m) -> std::optional<Interval> {
      if (m.spread) return Interval{m.spread->p5, m.spread->p95};
      if (m.uncertainty) return m.uncertainty->likely();
      return std::nullopt;
    });
    add_band(style, points, [](const auto& m) -> std::optional<Interval> {
      if (m.spread || !m.uncertainty) return std::nullopt;
      return m.uncertainty->middle();
    });
  }

  void add_formula(const Style& style, const CapFormula& formula, double from, double to) {
    constexpr int kPieces = 100;
    Series curve{"", Shape::line, {style.colour, 1.4, "6 4"}};
    for (int i = 0; i <= kPieces; ++i) {
      double x = from * std::pow(to / from, static_cast<double>(i) / kPieces);
      curve.points.push_back({x, scale_.value(formula.iteration(Bytes(x)))});
    }
    has_formula_ = true;
    chart_.series.push_back(std::move(curve));
  }

  void add_measured(std::string_view colour, std::vector<ChartPoint> points) {
    has_measured_ = true;
    chart_.series.push_back({"", Shape::upright, {colour, 1.6, {}, Marker::square}, std::move(points)});
  }

  void add_best(const Style& style, const SweepPoint& best) {
    auto x = best.metrics.bucket_cap->value(), y = scale_.value(best.metrics.iteration);
    bests_.push_back({"", Shape::upright, {style.colour, 2.2, {}, Marker::ring}, {{x, y}}});
    // Labels of many lines would only hide them; the table has all the numbers.
    if (groups_.size() <= kFewLines)
      chart_.labels.push_back(
          {x, y, fmt::format("{}: {}", format_bytes(Bytes(x)), scale_.text(best.metrics.iteration)),
           style.colour});
  }

  void add_group(std::size_t g) {
    const auto& group = groups_[g];
    std::vector<const SweepPoint*> points;
    for (auto i : group.points)
      if (place_of(result_.points[i])) points.push_back(&result_.points[i]);
    std::stable_sort(points.begin(), points.end(),
                     [&](const auto* a, const auto* b) { return *place_of(*a) < *place_of(*b); });
    auto best = result_.best_of(group.points);
    auto style = group_style(g);
    if (points.empty())
      return add_level(title_of(g), {style.colour, 2, "8 5"}, result_.points[best].metrics.iteration);
    add_bands(style, points);
    style.marker = Marker::dot;
    Series line{title_of(g), Shape::line, style};
    for (const auto* point : points) {
      auto x = *place_of(*point);
      line.points.push_back({x, scale_.value(point->metrics.iteration)});
      // Rows with a cap are drawn where they were measured, whether or not the sweep has a point there.
      if (point->measured && !(along_caps_ && point->measured->bucket_cap))
        measured_[g].push_back(measured_at(x, *point->measured));
    }
    chart_.series.push_back(std::move(line));
    if (auto formula = result_.formulas.find(best); formula != result_.formulas.end())
      add_formula(style, formula->second, *place_of(*points.front()), *place_of(*points.back()));
    if (auto& measured = measured_[g]; !measured.empty()) add_measured(style.colour, std::move(measured));
    if (along_caps_ && result_.points[best].metrics.bucket_cap) add_best(style, result_.points[best]);
  }

  // Measured caps, each with the one line that it belongs to.
  void assign_measured_caps() {
    for (const auto& row : result_.measured) {
      if (!row.bucket_cap) continue;
      std::vector<std::size_t> owners;
      for (std::size_t g = 0; g < groups_.size(); ++g) {
        const auto& points = groups_[g].points;
        bool has_caps =
            std::any_of(points.begin(), points.end(), [&](auto i) { return place_of(result_.points[i]); });
        if (has_caps && agrees_but_for_cap(row, result_.points[points.front()].metrics)) owners.push_back(g);
      }
      if (owners.empty()) continue;
      auto& measured = owners.size() == 1 ? measured_[owners.front()] : measured_of_several_;
      measured.push_back(measured_at(row.bucket_cap->value(), row));
    }
  }

  void add_legend() {
    auto add = [&](const std::string& title, Shape shape, const Style& style) {
      chart_.series.push_back({title, shape, style});
    };
    if (groups_.size() > kMostNamed)
      add(fmt::format("... {} more", groups_.size() - kMostNamed), Shape::boxes, {"none"});
    if (has_band_) add(result_.varies() ? "p5 to p95" : "50 and 80 % sure", Shape::band, {kNeutralColour});
    if (has_formula_) add("the textbook's formula", Shape::line, {kNeutralColour, 1.4, "6 4"});
    if (!bests_.empty()) add("shortest", Shape::upright, {kNeutralColour, 2.2, {}, Marker::ring});
    if (has_measured_) add("measured", Shape::upright, {kNeutralColour, 1.6, {}, Marker::square});
  }

  void set_axes() {
    double low = kFar, high = 0, left = kFar, right = 0;
    for (const auto& series : chart_.series)
      for (const auto& point : series.points) {
        low = std::min(low, point.low > 0 ? point.low : point.y);
        high = std::max(high, point.high);
        if (std::abs(point.x) == kFar) continue;
        left = std::min(left, point.x);
        right = std::max(right, point.x);
      }
    chart_.x.is_log = true;
    fit(chart_.x, right == 0 ? 1 : left, right == 0 ? 2 : right, 0.03);
    chart_.y.is_log = high > 8 * low;
    fit(chart_.y, low, high, chart_.y.is_log ? 0.08 : 0.1);
    if (!chart_.y.is_log) chart_.y.lowest = std::max(0.0, chart_.y.lowest);
    chart_.x.title = along_caps_ ? "bucket cap" : result_.axes[axis_];
    chart_.y.title = fmt::format("iteration time{} ({})", of_iterations(result_), scale_.unit);
    chart_.x.tics = along_caps_ ? size_tics(chart_.x) : value_tics();
  }

  [[nodiscard]] std::vector<ChartTic> value_tics() const {
    std::vector<ChartTic> tics;
    for (const auto& point : result_.points)
      if (auto value = as_positive_number(point.axis_values[axis_]))
        tics.push_back({*value, point.axis_values[axis_]});
    std::stable_sort(tics.begin(), tics.end(),
                     [](const auto& a, const auto& b) { return a.value < b.value; });
    return tics;
  }

  const SweepResult& result_;
  std::size_t axis_;
  bool along_caps_, has_band_ = false, has_formula_ = false, has_measured_ = false;
  TimeScale scale_;
  std::vector<SweepGroup> groups_;
  std::map<std::size_t, std::vector<ChartPoint>> measured_;  // by group
  std::vector<ChartPoint> measured_of_several_;              // rows that belong to more than one line
  std::vector<Series> bests_;                                // above all lines
  Chart chart_;
};

}  // namespace

std::optional<std::size_t> line_axis(const SweepResult& result) {
  if (auto cap = result.find_axis(kBucketCapAxis)) return cap;
  for (std::size_t axis = 0; axis < result.axes.size(); ++axis) {
    if (result.axes[axis] == "ddp.torch") continue;  // 2.6 is a version, no quantity
    std::set<double> values;
    bool numbers = true;
    for (const auto& point : result.points) {
      auto value = as_positive_number(point.axis_values.at(axis));
      if (value)
        values.insert(*value);
      else
        numbers = false;
    }
    if (numbers && values.size() > 1) return axis;
  }
  return std::nullopt;
}

Chart line_chart(const SweepResult& result, std::size_t axis) {
  return LineChart(result, axis).chart();
}

}  // namespace ddpsim
