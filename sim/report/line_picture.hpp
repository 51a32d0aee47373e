#pragma once
// What a line plot shows, before any of it is drawn.
#include <optional>
#include <string>
#include <vector>

#include "sim/report/sweep_result.hpp"

namespace ddpsim {

inline constexpr std::size_t kFewLines = 6;  // named in full, with a label at the best point

struct PlotPoint {
  double x = 0;  // bytes of a cap, or the axis' own number
  Seconds y;
  Seconds spread;  // zero where not known
};

// What a time may as well be, at x.
struct PlotBand {
  double x = 0;
  Seconds low, high;
};

struct PlotLine {
  std::string title;
  std::vector<PlotPoint> predicted;  // by x
  std::optional<Seconds> level;      // a group that the axis does not change
  std::optional<PlotPoint> best;
  std::vector<PlotPoint> measured;
  std::vector<PlotPoint> formula;  // the textbook's, by x; empty where it is not asked for
  std::vector<PlotBand> band;      // by x; empty where predictions are numbers
};

struct LinePicture {
  bool along_caps = false;
  std::string legend_title;
  std::vector<PlotLine> lines;
  std::vector<PlotPoint> measured_of_several;  // rows that belong to more than one line
  std::optional<Seconds> compute_only;         // where it is the same everywhere
  std::string band_title;                      // "p5 to p95"
};

// The lines along an axis, in order of the groups.
LinePicture make_picture(const SweepResult& result, std::size_t axis);

std::optional<double> as_positive_number(const std::string& text);

}  // namespace ddpsim
