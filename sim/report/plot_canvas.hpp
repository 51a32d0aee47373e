#pragma once
// The paper that all plots share: its size, fonts, colours, and how values become gnuplot text.
#include <string>
#include <string_view>
#include <vector>

#include "sim/base/units.hpp"
#include "sim/report/label_placement.hpp"

namespace ddpsim {

enum class PlotFormat { svg, png };

constexpr double kCanvasWidth = 900, kCanvasHeight = 560;  // px
constexpr double kCharacterWidth = 7.6,
                 kTextHeight = 16;  // px of DejaVu Sans at the size used here, a little generous

// A distinct colour for each of eight groups (Okabe and Ito, readable for the colour-blind), then again from
// the first.
std::string_view group_colour(std::size_t group);
// The dash type of a group's line: solid for the first eight.
int group_dash(std::size_t group);
inline constexpr std::string_view kNeutralColour = "#555555";

// The text as a string of gnuplot's, on one line.
std::string gnuplot_string(std::string_view text);
double text_width(std::string_view text);  // px
// At most that many characters, the rest as "...".
std::string shortened(const std::string& text, std::size_t most);

// Seconds as gnuplot plots them: in ms, or in s where most are long.
struct TimeScale {
  double factor = 1e3;
  std::string_view unit = "ms";

  static TimeScale for_longest(Seconds time);
  [[nodiscard]] double value(Seconds time) const { return time.value() * factor; }
  [[nodiscard]] std::string number(Seconds time) const;  // for the script
  [[nodiscard]] std::string text(Seconds time) const;    // "1234 ms", for people
};

// A linear or logarithmic axis and where its values lie, in pixels.
struct PlotAxis {
  double lowest = 0, highest = 1;
  bool log = false;
  double first_pixel = 0, last_pixel = 1;

  [[nodiscard]] double pixel(double value) const;
};

struct AxisTic {
  double value;
  std::string label;
};
// Leaves out tics whose labels would run into the one before.
std::vector<AxisTic> without_crowding(const PlotAxis& axis, const std::vector<AxisTic>& tics);

struct Margins {
  double left = 86, right = 28, top = 48, bottom = 68;
};

// The legend below the plot and the room that it needs.
struct Legend {
  std::string title;
  std::size_t rows = 0;
  double height = 0;
};
Legend legend_for(const std::string& title, const std::vector<std::string>& entries);

struct PlotTitles {
  std::string plot, x, y;
  std::string note = {};  // a line below the title
};

// Terminal, font, titles, grid, legend, margins.
std::string canvas_settings(PlotFormat format, const PlotTitles& titles, const Margins& margins,
                            const Legend& legend);
std::string range_settings(std::string_view letter, const PlotAxis& axis);
std::string tic_settings(std::string_view letter, const std::vector<AxisTic>& tics);

}  // namespace ddpsim
