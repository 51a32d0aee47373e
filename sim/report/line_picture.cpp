#include "sim/report/line_picture.hpp"

#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/quantity.hpp"
#include "sim/report/measured_iterations.hpp"
#include "sim/report/plot_kinds.hpp"

namespace ddpsim {
namespace {

std::optional<double> place_of(const SweepPoint& point, std::size_t axis, bool along_caps) {
  if (!along_caps) return as_positive_number(point.axis_values[axis]);
  if (!point.metrics.bucket_cap) return std::nullopt;
  return point.metrics.bucket_cap->value();
}

PlotPoint measured_point(double x, const MeasuredIteration& row) {
  return {x, row.iteration, row.spread.value_or(Seconds(0))};
}

// The other axes' values alone: for legends of many lines, below the axes' names.
std::string short_name(const SweepResult& result, const SweepGroup& group, std::size_t axis) {
  std::vector<std::string> values;
  for (std::size_t i = 0; i < result.axes.size(); ++i)
    if (i != axis) values.push_back(result.points[group.points.front()].axis_values[i]);
  return fmt::format("{}", fmt::join(values, ", "));
}

std::string other_axes(const SweepResult& result, std::size_t axis) {
  auto others = result.axes;
  others.erase(others.begin() + static_cast<std::ptrdiff_t>(axis));
  return fmt::format("{}", fmt::join(others, ", "));
}

// Iterations that differ, or what is not known of interference.
std::optional<PlotBand> band_at(double x, const IterationMetrics& metrics) {
  if (metrics.spread) return PlotBand{x, metrics.spread->p5, metrics.spread->p95};
  if (metrics.range) return PlotBand{x, metrics.range->least, metrics.range->most};
  return std::nullopt;
}

std::vector<PlotPoint> formula_curve(const CapFormula& formula, double from, double to) {
  constexpr int kPieces = 100;
  std::vector<PlotPoint> curve;
  for (int i = 0; i <= kPieces; ++i) {
    double x = from * std::pow(to / from, static_cast<double>(i) / kPieces);
    curve.push_back({x, formula.iteration(Bytes(x)), Seconds(0)});
  }
  return curve;
}

PlotLine make_line(const SweepResult& result, const SweepGroup& group, std::size_t axis, bool along_caps) {
  PlotLine line;
  line.title = group.name.empty() ? "predicted" : shortened(group.name, 100);
  for (auto i : group.points) {
    const auto& point = result.points[i];
    auto x = place_of(point, axis, along_caps);
    if (!x) continue;
    line.predicted.push_back({*x, point.metrics.iteration, Seconds(0)});
    if (auto band = band_at(*x, point.metrics)) line.band.push_back(*band);
    // Rows with a cap are drawn where they were measured, whether or not the sweep has a point there.
    if (point.measured && !(along_caps && point.measured->bucket_cap))
      line.measured.push_back(measured_point(*x, *point.measured));
  }
  const auto& best = result.points[result.best_of(group.points)];
  auto best_x = place_of(best, axis, along_caps);
  if (line.predicted.empty())
    line.level = best.metrics.iteration;
  else if (along_caps && best_x)
    line.best = PlotPoint{*best_x, best.metrics.iteration, Seconds(0)};
  auto by_x = [](const auto& a, const auto& b) { return a.x < b.x; };
  std::stable_sort(line.predicted.begin(), line.predicted.end(), by_x);
  if (auto formula = result.formulas.find(result.best_of(group.points)); formula != result.formulas.end())
    line.formula = formula_curve(formula->second, line.predicted.front().x, line.predicted.back().x);
  std::stable_sort(line.band.begin(), line.band.end(), by_x);
  return line;
}

// Measured caps, each with the one line that it belongs to.
void add_measured_caps(const SweepResult& result, const std::vector<SweepGroup>& groups,
                       LinePicture& picture) {
  for (const auto& row : result.measured) {
    if (!row.bucket_cap) continue;
    std::vector<std::size_t> owners;
    for (std::size_t g = 0; g < groups.size(); ++g)
      if (!picture.lines[g].level && agrees_but_for_cap(row, result.points[groups[g].points.front()].metrics))
        owners.push_back(g);
    if (owners.empty()) continue;
    auto& measured =
        owners.size() == 1 ? picture.lines[owners.front()].measured : picture.measured_of_several;
    measured.push_back(measured_point(row.bucket_cap->value(), row));
  }
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

}  // namespace

std::optional<double> as_positive_number(const std::string& text) {
  Located located{text, {}};
  try {
    double value = parse_number(located, 0, 1e15);
    return value > 0 ? std::optional(value) : std::nullopt;
  } catch (const InputError&) {
    return std::nullopt;
  }
}

LinePicture make_picture(const SweepResult& result, std::size_t axis) {
  LinePicture picture;
  picture.along_caps = result.axes[axis] == kBucketCapAxis;
  picture.band_title = result.varies() ? "p5 to p95" : "least to most, not measured";
  auto groups = result.groups(axis);
  for (const auto& group : groups)
    picture.lines.push_back(make_line(result, group, axis, picture.along_caps));
  if (groups.size() > kFewLines) {
    picture.legend_title = shortened(other_axes(result, axis), 100);
    for (std::size_t g = 0; g < groups.size(); ++g)
      picture.lines[g].title = shortened(short_name(result, groups[g], axis), 24);
  }
  if (picture.along_caps) add_measured_caps(result, groups, picture);
  picture.compute_only = common_compute_time(result);
  return picture;
}

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

}  // namespace ddpsim
