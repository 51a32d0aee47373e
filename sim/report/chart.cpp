#include "sim/report/chart.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>

#include "sim/base/quantity.hpp"
#include "sim/base/source.hpp"
#include "sim/report/label_placement.hpp"
#include "sim/report/svg_shapes.hpp"

namespace ddpsim {
namespace {

constexpr double kWidth = 900, kRight = 28;     // px
constexpr double kCharacter = 7.6, kLine = 16;  // px of DejaVu Sans at 13 px, a little generous
constexpr double kLegendRow = 20;
constexpr std::size_t kLongestTitle = 96, kLongestNote = 130;

// Code points; every byte of UTF-8 but continuation bytes starts one.
bool starts_character(char c) {
  return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
}

double text_width(std::string_view text) {
  return kCharacter * static_cast<double>(std::count_if(text.begin(), text.end(), starts_character));
}

// 1, 2, 5, 10 ...
std::vector<ChartTic> decade_tics(const ChartAxis& axis) {
  std::vector<ChartTic> tics;
  for (double decade = std::pow(10, std::floor(std::log10(axis.lowest))); decade <= axis.highest;
       decade *= 10)
    for (double digit : {1, 2, 5})
      if (digit * decade >= axis.lowest && digit * decade <= axis.highest)
        tics.push_back({digit * decade, fmt::format("{:.6g}", digit * decade)});
  return tics;
}

std::vector<ChartTic> round_tics(const ChartAxis& axis) {
  constexpr double kMost = 9;
  double least = (axis.highest - axis.lowest) / kMost, decade = std::pow(10, std::floor(std::log10(least)));
  double step = 10 * decade;
  for (double digit : {5, 2, 1})
    if (digit * decade >= least) step = digit * decade;
  std::vector<ChartTic> tics;
  for (double k = std::ceil(axis.lowest / step); k * step <= axis.highest; ++k)
    tics.push_back({k * step, fmt::format("{:.10g}", k * step)});
  return tics;
}

std::vector<ChartTic> tics_of(const ChartAxis& axis) {
  if (!axis.tics.empty()) return axis.tics;
  return axis.is_log ? decade_tics(axis) : round_tics(axis);
}

double widest(const std::vector<ChartTic>& tics) {
  double width = 0;
  for (const auto& tic : tics) width = std::max(width, text_width(tic.label));
  return width;
}

// Where an axis' values lie.
struct Scale {
  const ChartAxis& axis;
  double first, last;  // px

  [[nodiscard]] double operator()(double value) const {
    auto place = [&](double v) { return axis.is_log ? std::log(v) : v; };
    double low = place(axis.lowest), at = place(std::clamp(value, axis.lowest, axis.highest));
    return first + (at - low) / (place(axis.highest) - low) * (last - first);
  }
};

class Drawing {
 public:
  explicit Drawing(const Chart& chart)
      : chart_(chart),
        x_tics_(tics_of(chart.x)),
        y_tics_(tics_of(chart.y)),
        left_(std::max(64.0, widest(y_tics_) + (chart.y.title.empty() ? 24 : 46))),
        labels_({0, 0, kWidth, 0}) {
    for (const auto& text : chart.texts)
      if (text.up > 0 && text.y >= chart.y.highest) top_ = 64;
    if (chart.x.has_names)
      turn_names();
    else
      leave_out_crowded();
    labels_ = LabelPlacement({left_, top_, kWidth - kRight, floor()});
  }

  [[nodiscard]] std::string text() {
    auto centre = (left_ + kWidth - kRight) / 2;
    auto body = svg_text(centre, chart_.note.empty() ? 24.0 : 16.0, shortened(chart_.title, kLongestTitle),
                         "font-size=\"15\"");
    body += svg_text(centre, 36, shortened(chart_.note, kLongestNote),
                     fmt::format("font-size=\"11\" {}", filled(kNeutralColour)));
    body += grid_and_axes();
    for (const auto& series : chart_.series)
      if (!series.points.empty()) body += svg_shape(series.shape, series.style, in_pixels(series));
    body += texts() + svg_text(centre, floor() + below_ + 46, chart_.x.title);
    auto beside = left_ - widest(y_tics_) - 30, middle = top_ + chart_.height / 2;
    body += svg_text(beside, middle, chart_.y.title,
                     fmt::format("transform=\"rotate(-90 {} {})\"", px(beside), px(middle)));
    auto height = floor() + below_ + (chart_.x.title.empty() ? 40 : 64);
    body += legend(height);
    return fmt::format(
        "<?xml version=\"1.0\" encoding=\"utf-8\"?>\n<svg xmlns=\"http://www.w3.org/2000/svg\" "
        "width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" font-family=\"DejaVu Sans, Verdana, "
        "sans-serif\" font-size=\"13\" text-anchor=\"middle\" fill=\"#222222\">\n"
        "<rect width=\"100%\" height=\"100%\" fill=\"#ffffff\"/>\n{2}</svg>\n",
        kWidth, px(height), body);
  }

 private:
  [[nodiscard]] double floor() const { return top_ + chart_.height; }
  [[nodiscard]] Scale x() const { return {chart_.x, left_, kWidth - kRight}; }
  [[nodiscard]] Scale y() const { return {chart_.y, floor(), top_}; }

  // Names that are too long to stand side by side, by 35 degrees: sin = 0.57, cos = 0.82.
  void turn_names() {
    auto slot = [&] { return x()(chart_.x.lowest + 1) - left_; };
    if (widest(x_tics_) + 8 <= slot()) return;
    turned_ = true;
    below_ = 0.57 * widest(x_tics_);
    left_ = std::max(left_, 0.82 * widest(x_tics_) - 0.5 * slot());
    auto step = static_cast<std::size_t>(std::max(1.0, std::ceil(1.4 * kLine / slot())));
    std::vector<ChartTic> kept;
    for (std::size_t i = 0; i < x_tics_.size(); i += step) kept.push_back(x_tics_[i]);
    x_tics_ = kept;
  }

  void leave_out_crowded() {
    double end = -kWidth;
    std::erase_if(x_tics_, [&](const ChartTic& tic) {
      auto middle = x()(tic.value), half = text_width(tic.label) / 2;
      if (middle - half < end + 8) return true;
      end = middle + half;
      return false;
    });
  }

  [[nodiscard]] std::vector<ChartPoint> in_pixels(const Series& series) {
    std::vector<ChartPoint> points;
    for (const auto& p : series.points)
      points.push_back({x()(p.x), y()(p.y), y()(p.low), y()(p.high), x()(p.left), x()(p.right)});
    for (std::size_t i = 0; i < points.size(); ++i)
      if (series.shape == Shape::line)
        labels_.add_line({points[i ? i - 1 : 0].x, points[i ? i - 1 : 0].y}, {points[i].x, points[i].y});
      else if (series.style.marker == Marker::square)
        labels_.add_line({points[i].x, points[i].low}, {points[i].x, points[i].high});
    return points;
  }

  [[nodiscard]] std::string grid_and_axes() const {
    std::string grid, marks, names;
    auto right = kWidth - kRight;
    for (const auto& tic : x_tics_) {
      auto at = x()(tic.value);
      if (turned_) {
        names += svg_text(
            at, floor() + 14, tic.label,
            fmt::format("text-anchor=\"end\" transform=\"rotate(-35 {} {})\"", px(at), px(floor() + 14)));
        continue;
      }
      names += svg_text(at, floor() + 20, tic.label);
      if (chart_.x.has_names) continue;
      grid += fmt::format("M{} {}V{}", px(at), px(floor()), px(top_));
      marks += fmt::format("M{} {}v6", px(at), px(floor()));
    }
    for (const auto& tic : y_tics_) {
      auto at = y()(tic.value);
      names += svg_text(left_ - 10, at, tic.label, "text-anchor=\"end\"");
      if (chart_.y.has_names) continue;
      grid += fmt::format("M{} {}H{}", px(left_), px(at), px(right));
      marks += fmt::format("M{} {}h-6", px(left_), px(at));
    }
    return svg_path(grid, {"#dddddd", 0.6}) +
           svg_path(fmt::format("M{0} {1}V{2}H{3}{4}", px(left_), px(top_), px(floor()), px(right), marks),
                    {"#444444", 0.8}) +
           names;
  }

  [[nodiscard]] std::string texts() {
    std::string out;
    for (const auto& one : chart_.texts) {
      auto width = text_width(one.text), at = x()(one.x), middle = y()(one.y) - one.up;
      auto room = x()(one.x + one.within / 2) - x()(one.x - one.within / 2);
      if (one.within > 0 && width > room) continue;
      if (!labels_.take({at - width / 2 - 3, middle - 6, at + width / 2 + 3, middle + 6})) continue;
      out += svg_text(at, middle, one.text, filled(one.colour));
    }
    for (const auto& one : chart_.labels)
      if (auto place = labels_.place({x()(one.x), y()(one.y)}, text_width(one.text) + 8, kLine))
        out += svg_text(place->x, place->y, one.text, filled(one.colour));
    return out;
  }

  // From `top` down, which it moves to where it ends.
  [[nodiscard]] std::string legend(double& top) const {
    std::vector<const Series*> named;
    double wide = text_width(chart_.legend_title) / 2;
    for (const auto& series : chart_.series)
      if (!series.title.empty()) {
        named.push_back(&series);
        wide = std::max(wide, kSampleWidth + text_width(series.title) + 40);
      }
    if (named.empty()) return {};
    std::string out;
    if (!chart_.legend_title.empty()) {
      out += svg_text(kWidth / 2, top + kLegendRow / 2, chart_.legend_title);
      top += kLegendRow;
    }
    auto columns = std::clamp<std::size_t>(static_cast<std::size_t>((kWidth - 40) / wide), 1, named.size());
    auto rows = (named.size() + columns - 1) / columns;
    columns = (named.size() + rows - 1) / rows;
    for (std::size_t i = 0; i < named.size(); ++i) {
      auto column = i / rows;
      auto left = kWidth / 2 + (static_cast<double>(column) - static_cast<double>(columns) / 2) * wide + 10;
      auto middle = top + (static_cast<double>(i % rows) + 0.5) * kLegendRow;
      out += svg_sample(*named[i], left, middle) +
             svg_text(left + kSampleWidth + 10, middle, named[i]->title, "text-anchor=\"start\"");
    }
    top += kLegendRow * static_cast<double>(rows) + 8;
    return out;
  }

  const Chart& chart_;
  std::vector<ChartTic> x_tics_, y_tics_;
  double left_, top_ = 48, below_ = 0;  // px; below_ is what turned names need
  bool turned_ = false;
  LabelPlacement labels_;
};

}  // namespace

void check_plot_path(const std::string& path) {
  if (path.empty() || path.ends_with(".svg")) return;
  throw InputError(fmt::format("plots are SVG, and '{}' does not end in .svg", path),
                   "write FILE.svg; for papers Python's ddpsim.plot draws with matplotlib (.pdf, .png)");
}

std::string svg(const Chart& chart) {
  return Drawing(chart).text();
}

Style group_style(std::size_t group, double width) {
  constexpr std::array<std::string_view, 8> kColours{"#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                                     "#E69F00", "#56B4E9", "#7A5C00", "#000000"};
  constexpr std::array<std::string_view, 5> kDashes{"", "8 5", "2 3", "9 4 2 4", "9 4 2 4 2 4"};
  return {kColours.at(group % kColours.size()), width, kDashes.at(group / kColours.size() % kDashes.size())};
}

std::string shortened(const std::string& text, std::size_t most) {
  std::size_t characters = 0, end = 0;  // of what stays where not all does
  for (std::size_t i = 0; i < text.size(); ++i)
    if (starts_character(text[i]) && ++characters == most - 2) end = i;
  return characters <= most ? text : text.substr(0, end) + "...";
}

void fit(ChartAxis& axis, double low, double high, double room) {
  bool is_point = high - low <= 1e-9 * high;
  double apart = is_point ? high : high - low, factor = is_point ? 2 : std::pow(high / low, room);
  axis.lowest = axis.is_log ? low / factor : low - room * apart;
  axis.highest = axis.is_log ? high * factor : high + room * apart;
}

std::vector<ChartTic> size_tics(const ChartAxis& axis) {
  double first = std::ceil(std::log2(axis.lowest)), last = std::floor(std::log2(axis.highest));
  double step = 1 + std::floor((last - first) / 11);
  std::vector<ChartTic> tics;
  for (double power = first; power <= last; power += step)
    tics.push_back({std::exp2(power), format_bytes(Bytes(std::exp2(power)))});
  if (tics.size() > 1) return tics;
  // Between two powers of two: the ends.
  tics = {{axis.lowest, format_bytes(Bytes(axis.lowest))}};
  if (axis.highest > axis.lowest) tics.push_back({axis.highest, format_bytes(Bytes(axis.highest))});
  return tics;
}

TimeScale TimeScale::for_longest(Seconds time) {
  return time < Seconds(10) ? TimeScale{} : TimeScale{1, "s"};
}

std::string TimeScale::text(Seconds time) const {
  return fmt::format("{:.4g} {}", value(time), unit);
}

}  // namespace ddpsim
