#include <algorithm>

#include <fmt/format.h>

#include "sim/report/charts.hpp"

namespace ddpsim {
namespace {

constexpr std::size_t kMostParts = 8, kLongestPhrase = 58;
constexpr double kHalfRow = 0.34, kRowHeight = 34;  // of the distance between two rows; px

struct WidthRow {
  std::string name;
  double width;  // percent
};

std::vector<WidthRow> rows_of(const Uncertainty& uncertainty) {
  std::vector<WidthRow> rows{{"all together", 100 * uncertainty.likely().width()}};
  for (const auto& part : uncertainty.parts())
    if (part.width > 0 && rows.size() <= kMostParts)
      rows.push_back({shortened(part.phrase(), kLongestPhrase), 100 * part.width});
  return rows;
}

}  // namespace

Chart width_chart(const Uncertainty& uncertainty, const std::string& title) {
  auto rows = rows_of(uncertainty);
  double widest = 0;
  for (const auto& row : rows) widest = std::max(widest, row.width);
  Chart chart{.title = title};
  chart.x = {"80 % interval, longest over shortest (% more)", 0, widest > 0 ? 1.14 * widest : 1};
  chart.y = {"", -0.6, static_cast<double>(rows.size()) - 0.4};
  chart.y.has_names = true;
  chart.height = kRowHeight * static_cast<double>(rows.size());
  Series all{"", Shape::boxes, {"#bcbddc"}}, parts{"", Shape::boxes, {"#4292c6"}};
  for (std::size_t i = 0; i < rows.size(); ++i) {
    auto y = static_cast<double>(rows.size() - 1 - i);  // the widest on top
    (i == 0 ? all : parts).points.push_back({0, y, y - kHalfRow, y + kHalfRow, 0, rows[i].width});
    chart.y.tics.push_back({y, rows[i].name});
    chart.texts.push_back(
        {rows[i].width + 0.062 * widest, y, fmt::format("{:.3g} %", rows[i].width), "#222222"});
  }
  chart.series = {std::move(all), std::move(parts)};
  return chart;
}

}  // namespace ddpsim
