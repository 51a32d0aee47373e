#include "sim/report/svg_shapes.hpp"

#include <algorithm>

#include <fmt/format.h>

#include "sim/report/html_page.hpp"

namespace ddpsim {
namespace {

constexpr double kBaseline = 4.5;  // px from the middle of a text down to its baseline
constexpr double kCap = 4;         // px of the end of a spread, to either side

std::string marker(Marker kind, double x, double y, double radius) {
  auto size = px(2 * radius);
  if (kind == Marker::square)
    return fmt::format("M{} {}h{}v{}h-{}z", px(x - radius), px(y - radius), size, size, size);
  return fmt::format("M{0} {1}a{2} {2} 0 1 0 {3} 0a{2} {2} 0 1 0 -{3} 0z", px(x - radius), px(y), px(radius),
                     size);
}

// Of many points they are small.
std::string markers(const Style& style, const std::vector<ChartPoint>& points) {
  if (style.marker == Marker::none) return {};
  double radius = style.marker == Marker::ring ? 9 : style.marker == Marker::square ? 4 : 3;
  if (points.size() > 60) radius /= 2;
  std::string way;
  for (const auto& point : points) way += marker(style.marker, point.x, point.y, radius);
  if (style.marker == Marker::dot) return fmt::format("<path d=\"{}\" {}/>\n", way, filled(style.colour));
  return svg_path(way, {style.colour, style.width});
}

std::string line(const Style& style, const std::vector<ChartPoint>& points) {
  std::string way;
  for (const auto& point : points)
    way += fmt::format("{}{} {}", way.empty() ? 'M' : 'L', px(point.x), px(point.y));
  return svg_path(way, style);
}

std::string band(const Style& style, const std::vector<ChartPoint>& points) {
  std::string way;
  auto add = [&](double x, double y) {
    way += fmt::format("{}{} {}", way.empty() ? 'M' : 'L', px(x), px(y));
  };
  for (const auto& point : points) add(point.x, point.high);
  std::for_each(points.rbegin(), points.rend(), [&](const ChartPoint& point) { add(point.x, point.low); });
  return fmt::format("<path d=\"{}z\" {} fill-opacity=\"0.16\"/>\n", way, filled(style.colour));
}

std::string boxes(const Style& style, const std::vector<ChartPoint>& points) {
  std::string way;
  for (const auto& point : points)
    way +=
        fmt::format("M{0} {1}H{2}V{3}H{0}z", px(point.left), px(point.low), px(point.right), px(point.high));
  return fmt::format("<path d=\"{}\" {}/>\n", way, filled(style.colour));
}

// With ends where there is a marker between them.
std::string uprights(const Style& style, const std::vector<ChartPoint>& points) {
  std::string way;
  for (const auto& point : points) {
    if (point.low == point.high) continue;
    way += fmt::format("M{} {}V{}", px(point.x), px(point.low), px(point.high));
    if (style.marker == Marker::none) continue;
    for (auto end : {point.low, point.high})
      way += fmt::format("M{} {}h{}", px(point.x - kCap), px(end), px(2 * kCap));
  }
  return way.empty() ? way : svg_path(way, style);
}

}  // namespace

std::string px(double value) {
  return fmt::format("{:.5g}", value);
}

std::string filled(std::string_view colour) {
  return fmt::format("fill=\"{}\"", colour);
}

std::string svg_text(double x, double middle, std::string_view text, std::string_view attributes) {
  if (text.empty()) return {};
  return fmt::format("<text x=\"{}\" y=\"{}\" {}>{}</text>\n", px(x), px(middle + kBaseline), attributes,
                     html::escaped(text));
}

std::string svg_path(const std::string& way, const Style& style) {
  return fmt::format("<path d=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"{}\"{}/>\n", way,
                     style.colour, style.width,
                     style.dash.empty() ? "" : fmt::format(" stroke-dasharray=\"{}\"", style.dash));
}

std::string svg_shape(Shape shape, const Style& style, const std::vector<ChartPoint>& points) {
  switch (shape) {
    case Shape::band:
      return band(style, points);
    case Shape::boxes:
      return boxes(style, points);
    case Shape::upright:
      return uprights(style, points) + markers(style, points);
    case Shape::line:
      break;
  }
  return line(style, points) + markers(style, points);
}

std::string svg_sample(const Series& series, double x, double middle) {
  ChartPoint left{x, middle, middle + 5, middle - 5, x, x + kSampleWidth}, right = left;
  right.x += kSampleWidth;
  ChartPoint centre{x + kSampleWidth / 2, middle};
  bool is_area = series.shape == Shape::band || series.shape == Shape::boxes;
  if (is_area) return svg_shape(series.shape, series.style, {left, right});
  auto out = markers(series.style, {centre});
  if (series.shape == Shape::line || out.empty()) out = line(series.style, {left, right}) + out;
  return out;
}

}  // namespace ddpsim
