#include "sim/report/plot_canvas.hpp"

#include <algorithm>
#include <array>
#include <cmath>

#include <fmt/format.h>
#include <fmt/ranges.h>

namespace ddpsim {
namespace {

constexpr std::array<std::string_view, 8> kColours{"#0072B2", "#D55E00", "#009E73", "#CC79A7",
                                                   "#E69F00", "#56B4E9", "#7A5C00", "#000000"};
constexpr double kLegendSample = 90;                // px of line before a legend entry and the space after it
constexpr double kLegendRow = 20;                   // px
constexpr double kTitleAboveNote = 16, kNote = 36;  // px from the top to their middles
constexpr std::size_t kLongestNote = 130;

// Code points; every byte of UTF-8 but continuation bytes starts one.
std::size_t length_of(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(
      text.begin(), text.end(), [](char c) { return (static_cast<unsigned char>(c) & 0xC0) != 0x80; }));
}

// The SVG terminal takes pixels; cairo counts points at 96 to the inch, where 3 points are 4 px.
double font_size(PlotFormat format, double pixels) {
  return format == PlotFormat::png ? 0.75 * pixels : pixels;
}

std::string terminal(PlotFormat format) {
  return fmt::format("set terminal {} size {},{} noenhanced font 'DejaVu Sans,{}' background '#ffffff'\n",
                     format == PlotFormat::png ? "pngcairo" : "svg", kCanvasWidth, kCanvasHeight,
                     font_size(format, 13));
}

std::string title_label(const std::string& text, PixelPoint place, std::string_view style) {
  if (text.empty()) return {};
  return fmt::format("set label {} at screen {:.5f},{:.5f} center {}\n", gnuplot_string(text),
                     place.x / kCanvasWidth, place.y / kCanvasHeight, style);
}

}  // namespace

std::string_view group_colour(std::size_t group) {
  return kColours[group % kColours.size()];
}

int group_dash(std::size_t group) {
  return 1 + static_cast<int>(group / kColours.size() % 5);
}

std::string gnuplot_string(std::string_view text) {
  // Gnuplot takes '...' as it stands, and is at a loss with most places where '' stands for a quote. In "..."
  // there are escapes, and what stands between backquotes would be run as a command.
  bool escaped = text.find('\'') != std::string_view::npos;
  std::string out(1, escaped ? '"' : '\'');
  for (char c : text) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7f)
      out += ' ';
    else if (escaped && c == '`')
      out += "\\140";
    else if (escaped && (c == '"' || c == '\\'))
      (out += '\\') += c;
    else
      out += c;
  }
  return out + out.front();
}

double text_width(std::string_view text) {
  return kCharacterWidth * static_cast<double>(length_of(text));
}

std::string shortened(const std::string& text, std::size_t most) {
  if (length_of(text) <= most) return text;
  std::size_t end = 0, characters = 0;
  while (characters + 3 < most || (static_cast<unsigned char>(text[end]) & 0xC0) == 0x80) {
    if ((static_cast<unsigned char>(text[end]) & 0xC0) != 0x80) ++characters;
    ++end;
  }
  return text.substr(0, end) + "...";
}

TimeScale TimeScale::for_longest(Seconds time) {
  return time < Seconds(10) ? TimeScale{} : TimeScale{1, "s"};
}

std::string TimeScale::number(Seconds time) const {
  return fmt::format("{:.9g}", value(time));
}

std::string TimeScale::text(Seconds time) const {
  return fmt::format("{:.4g} {}", value(time), unit);
}

double PlotAxis::pixel(double value) const {
  auto place = [&](double v) { return log ? std::log(v) : v; };
  auto share = (place(value) - place(lowest)) / (place(highest) - place(lowest));
  return first_pixel + share * (last_pixel - first_pixel);
}

std::vector<AxisTic> without_crowding(const PlotAxis& axis, const std::vector<AxisTic>& tics) {
  std::vector<AxisTic> kept;
  double end = -kCanvasWidth;
  for (const auto& tic : tics) {
    auto half = text_width(tic.label) / 2;
    auto centre = axis.pixel(tic.value);
    if (centre - half < end + 8) continue;
    kept.push_back(tic);
    end = centre + half;
  }
  return kept;
}

Legend legend_for(const std::string& title, const std::vector<std::string>& entries) {
  if (entries.empty()) return {};
  double widest = 0;
  for (const auto& entry : entries) widest = std::max(widest, text_width(entry) + kLegendSample);
  auto columns = std::max<std::size_t>(1, static_cast<std::size_t>((kCanvasWidth - 40) / widest));
  Legend legend{title, (entries.size() + columns - 1) / columns, 0};
  legend.height = kLegendRow * static_cast<double>(legend.rows + (title.empty() ? 0 : 1)) + 6;
  return legend;
}

std::string canvas_settings(PlotFormat format, const PlotTitles& titles, const Margins& margins,
                            const Legend& legend) {
  auto out = terminal(format);
  double bottom = margins.bottom + legend.height;
  out += "set encoding utf8\n";
  out += fmt::format("set lmargin at screen {:.5f}\n", margins.left / kCanvasWidth);
  out += fmt::format("set rmargin at screen {:.5f}\n", 1 - margins.right / kCanvasWidth);
  out += fmt::format("set bmargin at screen {:.5f}\n", bottom / kCanvasHeight);
  out += fmt::format("set tmargin at screen {:.5f}\n", 1 - margins.top / kCanvasHeight);
  // Titles are labels because each terminal places gnuplot's own at another distance.
  PixelPoint centre{(margins.left + kCanvasWidth - margins.right) / 2,
                    (bottom + kCanvasHeight - margins.top) / 2};
  double title = titles.note.empty() ? margins.top / 2 : kTitleAboveNote;
  out += title_label(titles.plot, {centre.x, kCanvasHeight - title},
                     fmt::format("font ',{}'", font_size(format, 15)));
  out += title_label(shortened(titles.note, kLongestNote), {centre.x, kCanvasHeight - kNote},
                     fmt::format("font ',{}' textcolor rgb '{}'", font_size(format, 11), kNeutralColour));
  out += title_label(titles.x, {centre.x, legend.height + 18}, "");
  out += title_label(titles.y, {margins.left - 68, centre.y}, "rotate by 90");
  out +=
      "set border 3 linecolor rgb '#444444' linewidth 0.8\nset tics nomirror out textcolor rgb '#222222'\n";
  out += "set grid linetype 1 linewidth 0.6 linecolor rgb '#dddddd'\n";
  if (legend.rows == 0) return out + "unset key\n";
  out += fmt::format("set key at screen 0.5,{:.5f} center top vertical maxrows {} Left reverse samplen 2.2\n",
                     legend.height / kCanvasHeight, legend.rows);
  if (!legend.title.empty()) out += fmt::format("set key title {}\n", gnuplot_string(legend.title));
  return out;
}

std::string range_settings(std::string_view letter, const PlotAxis& axis) {
  auto out = fmt::format("set {}range [{:.9g}:{:.9g}]\n", letter, axis.lowest, axis.highest);
  return axis.log ? fmt::format("set logscale {}\n", letter) + out : out;
}

std::string tic_settings(std::string_view letter, const std::vector<AxisTic>& tics) {
  std::vector<std::string> parts;
  for (const auto& tic : tics) {
    std::string label;  // a format: %% stands for %
    for (char c : tic.label) label += c == '%' ? "%%" : std::string(1, c);
    parts.push_back(fmt::format("{} {:.17g}", gnuplot_string(label), tic.value));
  }
  return fmt::format("set {}tics ({})\n", letter, fmt::join(parts, ", "));
}

}  // namespace ddpsim
