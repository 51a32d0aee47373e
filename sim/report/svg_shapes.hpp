#pragma once
// The shapes of a chart in pixels, as SVG.
#include <string>
#include <string_view>
#include <vector>

#include "sim/report/chart.hpp"

namespace ddpsim {

std::string px(double value);
std::string filled(std::string_view colour);

// On one line, `middle` at half the height of its letters.
std::string svg_text(double x, double middle, std::string_view text, std::string_view attributes = "");
std::string svg_path(const std::string& way, const Style& style);

// Of points in pixels.
std::string svg_shape(Shape shape, const Style& style, const std::vector<ChartPoint>& points);
// What stands before a title in the legend, its left end at `x`.
std::string svg_sample(const Series& series, double x, double middle);
inline constexpr double kSampleWidth = 30;

}  // namespace ddpsim
