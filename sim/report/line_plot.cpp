#include <algorithm>
#include <cmath>
#include <set>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/quantity.hpp"
#include "sim/report/line_picture.hpp"
#include "sim/report/plot_kinds.hpp"

namespace ddpsim {
namespace {

constexpr std::size_t kMostNamed = 12;  // in the legend

template <class Visit>
void visit_points(const LinePicture& picture, Visit visit) {
  for (const auto& line : picture.lines) {
    for (const auto& point : line.predicted) visit(point);
    for (const auto& point : line.measured) visit(point);
  }
  for (const auto& point : picture.measured_of_several) visit(point);
}

PlotAxis x_axis(const LinePicture& picture, const Margins& margins) {
  std::set<double> places;
  visit_points(picture, [&](const PlotPoint& point) { places.insert(point.x); });
  PlotAxis axis{1, 2, true, margins.left, kCanvasWidth - margins.right};
  if (places.empty()) return axis;
  double lowest = *places.begin(), highest = *places.rbegin();
  double room = highest > lowest ? std::pow(highest / lowest, 0.03) : 2;
  axis.lowest = lowest / room;
  axis.highest = highest * room;
  return axis;
}

// All times that the plot shows, from end to end of their spread.
std::vector<Seconds> times_shown(const LinePicture& picture) {
  std::vector<Seconds> times;
  visit_points(picture, [&](const PlotPoint& point) {
    times.push_back(point.y + point.spread);
    if (point.spread < point.y) times.push_back(point.y - point.spread);
  });
  for (const auto& line : picture.lines)
    for (const auto& band : line.band) times.insert(times.end(), {band.low, band.high});
  for (const auto& line : picture.lines) {
    if (line.level) times.push_back(*line.level);
    for (const auto& point : line.formula) times.push_back(point.y);
  }
  if (picture.compute_only && *picture.compute_only > Seconds(0)) times.push_back(*picture.compute_only);
  return times;
}

PlotAxis y_axis(Seconds shortest, Seconds longest, const TimeScale& scale, const Margins& margins,
                const Legend& legend) {
  double lowest = scale.value(shortest), highest = scale.value(longest);
  PlotAxis axis{lowest, highest, highest > 8 * lowest, margins.bottom + legend.height,
                kCanvasHeight - margins.top};
  if (axis.log) {
    auto room = std::pow(highest / lowest, 0.08);
    axis.lowest = lowest / room;
    axis.highest = highest * room;
  } else {
    // Times that differ by rounding are the same.
    auto room = 0.1 * (highest - lowest > 1e-9 * highest ? highest - lowest : highest);
    axis.lowest = std::max(0.0, lowest - room);
    axis.highest = highest + room;
  }
  return axis;
}

std::vector<AxisTic> cap_tics(const PlotAxis& axis) {
  auto first = static_cast<int>(std::ceil(std::log2(axis.lowest)));
  auto last = static_cast<int>(std::floor(std::log2(axis.highest)));
  std::vector<AxisTic> tics;
  int step = 1 + (last - first) / 11;
  for (int power = first; power <= last; power += step)
    tics.push_back({std::exp2(power), format_bytes(Bytes(std::exp2(power)))});
  return tics;
}

std::vector<AxisTic> value_tics(const SweepResult& result, std::size_t axis) {
  std::vector<AxisTic> tics;
  for (const auto& point : result.points)
    if (auto value = as_positive_number(point.axis_values[axis]))
      tics.push_back({*value, point.axis_values[axis]});
  std::stable_sort(tics.begin(), tics.end(), [](const auto& a, const auto& b) { return a.value < b.value; });
  return tics;
}

// 1, 2, 5, 10 ...: gnuplot itself labels only whole decades.
std::vector<AxisTic> decade_tics(const PlotAxis& axis) {
  std::vector<AxisTic> tics;
  for (double decade = std::pow(10, std::floor(std::log10(axis.lowest))); decade <= axis.highest;
       decade *= 10)
    for (double digit : {1, 2, 5})
      if (digit * decade >= axis.lowest && digit * decade <= axis.highest)
        tics.push_back({digit * decade, fmt::format("{:.6g}", digit * decade)});
  return tics;
}

std::string data_block(const std::string& name, const std::vector<PlotPoint>& points,
                       const TimeScale& scale) {
  auto out = fmt::format("${} << EOD\n", name);
  for (const auto& point : points)
    out += fmt::format("{:.17g} {} {}\n", point.x, scale.number(point.y), scale.number(point.spread));
  return out + "EOD\n";
}

class LineScript {
 public:
  LineScript(const LinePicture& picture, const PlotAxis& x, const PlotAxis& y, const TimeScale& scale)
      : x_(x), y_(y), scale_(scale), labels_({x.first_pixel, y.first_pixel, x.last_pixel, y.last_pixel}) {
    add_compute_only(picture);
    for (std::size_t i = 0; i < picture.lines.size(); ++i) add_line(picture.lines[i], i);
    if (!picture.measured_of_several.empty())
      add_measured("measured", picture.measured_of_several, kNeutralColour);
    // Labels of many lines would only hide them; the table has all the numbers.
    for (std::size_t i = 0; i < picture.lines.size(); ++i)
      add_best(picture.lines[i], i, picture.lines.size() <= kFewLines);
    add_legend(picture);
  }

  [[nodiscard]] const std::vector<std::string>& titles() const { return titles_; }
  [[nodiscard]] std::string text() const {
    return fmt::format("{}plot {}\n", before_, fmt::join(parts_, ", \\\n     "));
  }

 private:
  [[nodiscard]] double pixel_of(Seconds time) const { return y_.pixel(scale_.value(time)); }

  std::string titled(const std::string& title) {
    if (title.empty()) return "notitle";
    titles_.push_back(title);
    return "title " + gnuplot_string(title);
  }

  void add_level(Seconds level, std::string_view style, const std::string& title) {
    parts_.push_back(fmt::format("{} with lines {} {}", scale_.number(level), style, titled(title)));
    labels_.add_curve({{x_.first_pixel, pixel_of(level)}, {x_.last_pixel, pixel_of(level)}});
  }

  void add_compute_only(const LinePicture& picture) {
    if (!picture.compute_only) return;
    add_level(*picture.compute_only, "linewidth 1.2 dashtype 3 linecolor rgb '#888888'", "compute only");
  }

  void add_line(const PlotLine& line, std::size_t i) {
    auto colour = group_colour(i);
    auto title = i < kMostNamed ? line.title : std::string();
    if (line.level) {
      add_level(*line.level, fmt::format("linewidth 2 dashtype 2 linecolor rgb '{}'", colour), title);
      return;
    }
    if (!line.band.empty()) add_band(fmt::format("band{}", i), line.band, colour);
    auto name = fmt::format("predicted{}", i);
    before_ += data_block(name, line.predicted, scale_);
    parts_.push_back(
        fmt::format("${} using 1:2 with linespoints linewidth 2 dashtype {} linecolor rgb '{}' "
                    "pointtype 7 pointsize {} {}",
                    name, group_dash(i), colour, line.predicted.size() > 60 ? 0.25 : 0.5, titled(title)));
    std::vector<PixelPoint> curve;
    for (const auto& point : line.predicted) curve.push_back({x_.pixel(point.x), pixel_of(point.y)});
    labels_.add_curve(curve);
    if (!line.formula.empty()) add_formula(fmt::format("formula{}", i), line.formula, colour);
    if (!line.measured.empty()) add_measured(fmt::format("measured{}", i), line.measured, colour);
  }

  void add_band(const std::string& name, const std::vector<PlotBand>& band, std::string_view colour) {
    before_ += fmt::format("${} << EOD\n", name);
    for (const auto& [x, low, high] : band)
      before_ += fmt::format("{:.17g} {} {}\n", x, scale_.number(low), scale_.number(high));
    before_ += "EOD\n";
    parts_.push_back(
        fmt::format("${} using 1:2:3 with filledcurves fillstyle transparent solid 0.15 noborder fillcolor "
                    "rgb '{}' notitle",
                    name, colour));
  }

  void add_formula(const std::string& name, const std::vector<PlotPoint>& points, std::string_view colour) {
    before_ += data_block(name, points, scale_);
    parts_.push_back(fmt::format(
        "${} using 1:2 with lines linewidth 1.4 dashtype 2 linecolor rgb '{}' notitle", name, colour));
    std::vector<PixelPoint> curve;
    for (const auto& point : points) curve.push_back({x_.pixel(point.x), pixel_of(point.y)});
    labels_.add_curve(curve);
  }

  void add_measured(const std::string& name, const std::vector<PlotPoint>& points, std::string_view colour) {
    before_ += data_block(name, points, scale_);
    auto style =
        fmt::format("linewidth 1.6 dashtype 1 linecolor rgb '{}' pointtype 4 pointsize 1.1 notitle", colour);
    bool spread = std::any_of(points.begin(), points.end(),
                              [](const auto& point) { return point.spread > Seconds(0); });
    parts_.push_back(spread ? fmt::format("${} using 1:2:3 with yerrorbars {}", name, style)
                            : fmt::format("${} using 1:2 with points {}", name, style));
    for (const auto& point : points) {
      double top = pixel_of(point.y + point.spread), x = x_.pixel(point.x);
      double bottom = point.spread < point.y ? pixel_of(point.y - point.spread) : y_.first_pixel;
      labels_.add_curve({{x, top}, {x, bottom}});
    }
  }

  void add_best(const PlotLine& line, std::size_t i, bool labelled) {
    if (!line.best) return;
    auto name = fmt::format("best{}", i);
    before_ += data_block(name, {*line.best}, scale_);
    parts_.push_back(fmt::format(
        "${} using 1:2 with points linewidth 2.2 linecolor rgb '{}' pointtype 6 pointsize 2 notitle", name,
        group_colour(i)));
    if (!labelled) return;
    auto text = fmt::format("{}: {}", format_bytes(Bytes(line.best->x)), scale_.text(line.best->y));
    PixelPoint anchor{x_.pixel(line.best->x), pixel_of(line.best->y)};
    auto place = labels_.place(anchor, text_width(text), kTextHeight);
    if (!place) return;
    before_ += fmt::format("set label {} at screen {:.5f},{:.5f} left textcolor rgb '{}' front\n",
                           gnuplot_string(text), place->x / kCanvasWidth,
                           (place->y + kTextHeight / 2) / kCanvasHeight, group_colour(i));
  }

  void add_legend(const LinePicture& picture) {
    bool measured = !picture.measured_of_several.empty(), best = false, band = false, formula = false;
    for (const auto& line : picture.lines) {
      measured = measured || !line.measured.empty();
      best = best || line.best;
      band = band || !line.band.empty();
      formula = formula || !line.formula.empty();
    }
    auto add = [&](const char* style, const char* title) {
      parts_.push_back(
          fmt::format("keyentry with points linecolor rgb '{}' {} {}", kNeutralColour, style, titled(title)));
    };
    if (picture.lines.size() > kMostNamed)
      parts_.push_back(fmt::format("keyentry with points pointtype -1 {}",
                                   titled(fmt::format("... {} more", picture.lines.size() - kMostNamed))));
    if (band)
      parts_.push_back(fmt::format(
          "keyentry with filledcurves fillstyle transparent solid 0.15 noborder fillcolor rgb '{}' {}",
          kNeutralColour, titled(picture.band_title)));
    if (formula)
      parts_.push_back(fmt::format("keyentry with lines linewidth 1.4 dashtype 2 linecolor rgb '{}' {}",
                                   kNeutralColour, titled("the textbook's formula")));
    if (best) add("linewidth 2.2 pointtype 6 pointsize 2", "shortest");
    if (measured) add("linewidth 1.6 pointtype 4 pointsize 1.1", "measured");
  }

  PlotAxis x_, y_;
  TimeScale scale_;
  LabelPlacement labels_;
  std::string before_;
  std::vector<std::string> parts_, titles_;
};

// Which of the iterations, where they differ.
std::string of_iterations(const SweepResult& result) {
  const auto& spread = result.points.front().metrics.spread;
  return spread ? fmt::format(", {} of {}", reported_iteration_name(spread->report), spread->iterations) : "";
}

}  // namespace

std::string line_plot_script(const SweepResult& result, std::size_t axis, PlotFormat format) {
  auto picture = make_picture(result, axis);
  Margins margins;
  auto times = times_shown(picture);
  auto [shortest, longest] = std::minmax_element(times.begin(), times.end());
  auto scale = TimeScale::for_longest(*longest);
  auto x = x_axis(picture, margins);
  auto y = y_axis(*shortest, *longest, scale, margins, {});
  // The legend's height moves the pixels that labels are placed by, so a first pass finds what is in it.
  auto legend = legend_for(picture.legend_title, LineScript(picture, x, y, scale).titles());
  y = y_axis(*shortest, *longest, scale, margins, legend);
  LineScript script(picture, x, y, scale);

  auto tics = picture.along_caps ? cap_tics(x) : value_tics(result, axis);
  PlotTitles titles{result.title, picture.along_caps ? "bucket cap" : result.axes[axis],
                    fmt::format("iteration time{} ({})", of_iterations(result), scale.unit),
                    result.trace_note()};
  auto out = canvas_settings(format, titles, margins, legend);
  out += range_settings("x", x) + tic_settings("x", without_crowding(x, tics));
  out += range_settings("y", y);
  if (y.log) out += tic_settings("y", decade_tics(y));
  return out + script.text();
}

}  // namespace ddpsim
