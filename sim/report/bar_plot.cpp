#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/report/plot_kinds.hpp"

namespace ddpsim {
namespace {

struct Term {
  const char* title;
  Seconds IterationMetrics::*time;
  const char* colour;
};

// In the order in which they happen, which is bottom to top.
constexpr std::array<Term, 6> kTerms{{
    {"forward", &IterationMetrics::forward, "#9ecae1"},
    {"backward", &IterationMetrics::backward_compute, "#4292c6"},
    {"interference", &IterationMetrics::interference, "#807dba"},
    {"overhead", &IterationMetrics::overhead, "#bcbddc"},
    {"exposed communication", &IterationMetrics::exposed_communication, "#e6550d"},
    {"optimizer", &IterationMetrics::optimizer, "#a1d99b"},
}};

// Of the distance between two bars.
constexpr double kHalfBar = 0.32;
constexpr double kMeasuredShift = 0.41;  // beside the bar, so that its total stays readable

Seconds longest_of(const SweepPoint& point) {
  auto longest = point.metrics.iteration;
  if (point.measured)
    longest = std::max(longest, point.measured->iteration + point.measured->spread.value_or(Seconds(0)));
  return longest;
}

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

std::vector<AxisTic> every_nth(const std::vector<AxisTic>& tics, double n) {
  std::vector<AxisTic> kept;
  for (std::size_t i = 0; i < tics.size(); i += static_cast<std::size_t>(n)) kept.push_back(tics[i]);
  return kept;
}

class BarScript {
 public:
  BarScript(const SweepResult& result, const TimeScale& scale, bool with_totals)
      : result_(result), scale_(scale) {
    std::vector<Seconds> tops(result.points.size());
    for (const auto& term : kTerms) add_term(term, tops);
    if (with_totals) add_totals();
    add_measured();
  }

  [[nodiscard]] const std::vector<std::string>& titles() const { return titles_; }
  [[nodiscard]] std::string text() const {
    return fmt::format("{}plot {}\n", data_, fmt::join(parts_, ", \\\n     "));
  }

 private:
  // Boxes from explicit edges: gnuplot's own stacking knows nothing of markers at the bars.
  void add_term(const Term& term, std::vector<Seconds>& tops) {
    const auto& points = result_.points;
    if (std::all_of(points.begin(), points.end(),
                    [&](const auto& point) { return point.metrics.*term.time == Seconds(0); }))
      return;
    auto name = fmt::format("term{}", titles_.size());
    data_ += fmt::format("${} << EOD\n", name);
    for (std::size_t i = 0; i < points.size(); ++i) {
      auto bottom = tops[i];
      tops[i] += points[i].metrics.*term.time;
      auto x = static_cast<double>(i);
      data_ += fmt::format("{} {} {:.6g} {:.6g} {} {}\n", x, scale_.number(tops[i]), x - kHalfBar,
                           x + kHalfBar, scale_.number(bottom), scale_.number(tops[i]));
    }
    data_ += "EOD\n";
    parts_.push_back(
        fmt::format("${} using 1:2:3:4:5:6 with boxxyerror fillstyle solid noborder "
                    "fillcolor rgb '{}' linewidth 0 title {}",
                    name, term.colour, gnuplot_string(term.title)));
    titles_.emplace_back(term.title);
  }

  void add_totals() {
    data_ += "$totals << EOD\n";
    for (std::size_t i = 0; i < result_.points.size(); ++i) {
      const auto& point = result_.points[i];
      data_ += fmt::format("{} {} \"{:.4g}\"\n", i, scale_.number(point.metrics.iteration),
                           scale_.value(point.metrics.iteration));
    }
    data_ += "EOD\n";
    parts_.emplace_back(
        "$totals using 1:2:3 with labels center offset 0,0.7 textcolor rgb '#222222' notitle");
  }

  void add_measured() {
    std::string rows;
    for (std::size_t i = 0; i < result_.points.size(); ++i)
      if (const auto& row = result_.points[i].measured)
        rows += fmt::format("{:.6g} {} {}\n", static_cast<double>(i) + kMeasuredShift,
                            scale_.number(row->iteration), scale_.number(row->spread.value_or(Seconds(0))));
    if (rows.empty()) return;
    data_ += fmt::format("$measured << EOD\n{}EOD\n", rows);
    parts_.emplace_back(
        "$measured using 1:2:3 with yerrorbars linewidth 1.8 linecolor rgb '#111111' pointtype 4 pointsize "
        "1.1 title 'measured'");
    titles_.emplace_back("measured");
  }

  const SweepResult& result_;
  TimeScale scale_;
  std::string data_;
  std::vector<std::string> parts_, titles_;
};

}  // namespace

std::string bar_plot_script(const SweepResult& result, PlotFormat format) {
  auto axes = changing_axes(result);
  Seconds longest;
  double widest_name = 0;
  std::vector<AxisTic> names;
  for (const auto& point : result.points) {
    longest = std::max(longest, longest_of(point));
    names.push_back({static_cast<double>(names.size()), shortened(joined(point.axis_values, axes), 34)});
    widest_name = std::max(widest_name, text_width(names.back().label));
  }
  auto scale = TimeScale::for_longest(longest);
  Margins margins;
  PlotAxis x{-0.7, static_cast<double>(names.size()) - 0.3, false, margins.left,
             kCanvasWidth - margins.right};
  auto slot = x.pixel(1) - x.pixel(0);
  bool turned = widest_name + 8 > slot;
  if (turned) {  // by 35 degrees: sin = 0.57, cos = 0.82
    margins.bottom += 0.57 * widest_name;
    margins.left = std::max(margins.left, 0.82 * widest_name - 0.5 * slot);
  }
  names = every_nth(names, std::max(1.0, std::ceil(1.4 * kTextHeight / slot)));

  BarScript script(result, scale, text_width("1234.") <= slot);
  auto legend = legend_for("", script.titles());
  PlotAxis y{0, 1.1 * scale.value(longest), false, 0, 1};
  PlotTitles titles{result.title, joined(result.axes, axes), fmt::format("iteration time ({})", scale.unit),
                    result.trace_note()};
  auto out = canvas_settings(format, titles, margins, legend);
  out += range_settings("x", x) + tic_settings("x", names) + range_settings("y", y);
  out += fmt::format("set xtics scale 0{}\nset grid noxtics\n", turned ? " rotate by 35 right" : "");
  return out + script.text();
}

}  // namespace ddpsim
