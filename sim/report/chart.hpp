#pragma once
// A chart as data, and the one writer that makes SVG of it: of --plot, and of the pictures in a page.
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/units.hpp"

namespace ddpsim {

// Throws InputError unless `path` is empty or ends in .svg.
void check_plot_path(const std::string& path);

// A place by the values of both axes, and how far it reaches: a spread, a band's edges, a box's sides.
struct ChartPoint {
  double x = 0, y = 0;
  double low = y, high = y;
  double left = x, right = x;
};

enum class Shape {
  line,     // from point to point
  band,     // between the lines through all lows and all highs
  boxes,    // one a point
  upright,  // from low to high, one a point
};
enum class Marker { none, dot, square, ring };

struct Style {
  std::string_view colour;
  double width = 1.5;          // px
  std::string_view dash = {};  // as SVG writes it
  Marker marker = Marker::none;
};

struct Series {
  std::string title;  // in the legend; empty: not there
  Shape shape = Shape::line;
  Style style;
  std::vector<ChartPoint> points = {};  // none: in the legend only
};

struct ChartText {
  double x = 0, y = 0;
  std::string text;
  std::string_view colour;
  double up = 0;      // px
  double within = 0;  // left out where wider than this much of the axis; 0: never
};

struct ChartTic {
  double value;
  std::string label;
};

struct ChartAxis {
  std::string title;
  double lowest = 0, highest = 1;
  bool is_log = false;
  std::vector<ChartTic> tics = {};  // none: round numbers
  bool has_names = false;           // tics are names, a distance of 1 apart: no grid
};

// What lies outside the axes is drawn at their ends.
struct Chart {
  std::string title, note = {}, legend_title = {};
  ChartAxis x = {}, y = {};
  double height = 400;  // px between the axes' ends
  std::vector<Series> series = {};
  std::vector<ChartText> texts = {};  // centred at their points; the first have their place before the others
  std::vector<ChartText> labels = {};  // beside their points, where they hide nothing
};

std::string svg(const Chart& chart);

// A distinct look for each of eight groups (Okabe and Ito, readable for the colour-blind); the next eight
// have dashes.
Style group_style(std::size_t group, double width = 2);
inline constexpr std::string_view kNeutralColour = "#555555";

// At most that many characters, the rest as "...".
std::string shortened(const std::string& text, std::size_t most);

// From `low` to `high`, and at both ends a share of that as room. Values that differ by rounding are the
// same.
void fit(ChartAxis& axis, double low, double high, double room);
// Powers of two, of an axis of bytes.
std::vector<ChartTic> size_tics(const ChartAxis& axis);

// Seconds as an axis counts them: in ms, or in s where most are long.
struct TimeScale {
  double factor = 1e3;
  std::string_view unit = "ms";

  static TimeScale for_longest(Seconds time);
  [[nodiscard]] double value(Seconds time) const { return time.value() * factor; }
  [[nodiscard]] std::string text(Seconds time) const;  // "1234 ms"
};

}  // namespace ddpsim
