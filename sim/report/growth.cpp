#include "sim/report/growth.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <ostream>

#include <fmt/format.h>

#include "sim/report/csv_parts.hpp"
#include "sim/report/table_parts.hpp"
#include "sim/result/iteration_columns.hpp"
#include "sim/result/json_parts.hpp"

namespace ddpsim {
namespace {

// Those that some point has.
std::vector<LossCauseRow> causes_of(const Growth& growth) {
  std::vector<LossCauseRow> causes(kLossCauses.begin(), kLossCauses.end());
  std::erase_if(causes, [&](const LossCauseRow& row) {
    return std::ranges::all_of(growth.points, [&](const GrowthPoint& point) {
      return point.metrics.lost_to(row.cause) == Seconds();
    });
  });
  return causes;
}

std::string range_text(const std::optional<std::pair<double, double>>& range) {
  return range ? fmt::format("{:.1f}-{:.1f}", 100 * range->first, 100 * range->second) : "-";
}

}  // namespace

double Growth::efficiency(std::size_t point) const {
  return points[point].share * (points.front().metrics.iteration / points[point].metrics.iteration);
}

// Where iterations differ, 5 to 95 % of them, which are as much longer or shorter on both numbers of GPUs;
// else 80 % of draws of what nobody measured, of both numbers together.
std::optional<std::pair<double, double>> Growth::efficiency_range(std::size_t point) const {
  const auto &first = points.front().metrics, &mine = points[point].metrics;
  if (first.spread && mine.spread) {
    auto [least, most] =
        std::minmax({efficiency(point), points[point].share * (first.spread->p95 / mine.spread->p95),
                     points[point].share * (first.spread->p5 / mine.spread->p5)});
    return std::pair(least, most);
  }
  if (!first.uncertainty || !mine.uncertainty) return std::nullopt;
  std::vector<Seconds> ratios;
  for (std::size_t i = 0; i < mine.uncertainty->times().size(); ++i)
    ratios.emplace_back(points[point].share * (first.uncertainty->times()[i] / mine.uncertainty->times()[i]));
  auto likely = interval_of(ratios, kLikely);
  return std::pair(likely.least.value(), likely.most.value());
}

static bool has_range(const Growth& growth) {
  return growth.efficiency_range(0).has_value();
}

static bool has_reference(const Growth& growth) {
  return std::all_of(growth.points.begin(), growth.points.end(),
                     [](const GrowthPoint& point) { return point.metrics.scaling_efficiency.has_value(); });
}

static std::vector<std::string> titles_of(const Growth& growth) {
  std::vector<std::string> titles{"GPUs", "iteration ms", "efficiency %"};
  if (has_range(growth)) titles.emplace_back("from-to %");
  if (has_reference(growth)) titles.emplace_back("of one GPU %");
  for (const auto& row : causes_of(growth)) titles.push_back(fmt::format("{} %", row.key));
  return titles;
}

static std::vector<std::string> cells_of(const Growth& growth, std::size_t point) {
  const auto& metrics = growth.points[point].metrics;
  std::vector<std::string> cells{fmt::format("{}", metrics.world_size), ms_text(metrics.iteration),
                                 fmt::format("{:.1f}", 100 * growth.efficiency(point))};
  if (has_range(growth)) cells.push_back(range_text(growth.efficiency_range(point)));
  if (has_reference(growth)) cells.push_back(fmt::format("{:.1f}", 100 * *metrics.scaling_efficiency));
  for (const auto& row : causes_of(growth))
    cells.push_back(fmt::format("{:.2f}", 100 * (metrics.lost_to(row.cause) / metrics.iteration)));
  return cells;
}

void print_growth(std::ostream& out, const Growth& growth, TableStyle style) {
  out << (growth.scaling == Scaling::weak
              ? "weak scaling: every GPU does the same, however many there are\n"
              : "strong scaling: all GPUs together do the same, however many there are\n");
  if (const auto& spread = growth.points.front().metrics.spread)
    out << fmt::format(
        "iterations differ: each point is the {} of {} (seed {}), its range 5 to 95 % of them\n",
        reported_iteration_name(spread->report), spread->iterations, spread->seed);
  for (const auto& [metrics, share] : growth.points)
    if (metrics.memory && !metrics.memory->fits())
      out << fmt::format("on {} GPUs it {}\n", metrics.world_size, fit_line(*metrics.memory));
  std::vector<std::vector<std::string>> rows;
  for (std::size_t i = 0; i < growth.points.size(); ++i) rows.push_back(cells_of(growth, i));
  if (style == TableStyle::markdown) out << '\n';
  print_table(out, titles_of(growth), rows, style);
  if (style == TableStyle::markdown) out << '\n';
  out << "efficiency: work per GPU and second, against the first row";
  bool varies = growth.points.front().metrics.spread.has_value();
  if (has_range(growth)) out << (varies ? "; from-to: of those iterations" : "; from-to: 80 % sure");
  if (has_reference(growth))
    out << "\nof one GPU: against one that communicates with nobody, and steps the whole optimizer";
  out << "\nother columns: what the iteration loses to each cause, in % of it";
  const auto& ends = row_of(LossCause::ends);
  if (std::ranges::count(causes_of(growth), ends.cause, &LossCauseRow::cause) > 0)
    out << fmt::format("; {}: {}", ends.key, ends.meaning);
  out << '\n';
  for (const auto& [metrics, share] : growth.points)
    if (auto training = training_text(metrics); !training.empty())
      out << fmt::format("{} GPUs: {}\n", metrics.world_size, training);
}

std::string growth_json(const Growth& growth, const ScenarioInfo& scenario, const ToolInfo& tool) {
  Cell::List points;
  for (std::size_t i = 0; i < growth.points.size(); ++i) {
    Cell::Fields point{{"efficiency", growth.efficiency(i)}};
    if (auto range = growth.efficiency_range(i))
      point.emplace_back("efficiency_range", Cell::List{range->first, range->second});
    json::append(point, fields(kIterationColumns, growth.points[i].metrics));
    points.emplace_back(std::move(point));
  }
  return json::text_of({{"scenario", json::scenario(scenario)},
                        {"scaling", growth.scaling == Scaling::weak ? "weak" : "strong"},
                        {"points", points},
                        {"notes", json::notes(growth.notes)},
                        {"tool", json::tool(tool)}});
}

std::string growth_csv(const Growth& growth) {
  csv::Record header{"world_size",       "iteration_s",     "efficiency",
                     "efficiency_least", "efficiency_most", "scaling_efficiency"};
  for (const auto& row : kLossCauses) header.push_back(fmt::format("{}_s", row.key));
  auto text = csv::line_of(header);
  for (std::size_t i = 0; i < growth.points.size(); ++i) {
    const auto& metrics = growth.points[i].metrics;
    auto range = growth.efficiency_range(i);
    csv::Record record{csv::text_of(metrics.world_size),
                       csv::text_of(metrics.iteration),
                       fmt::format("{:.9g}", growth.efficiency(i)),
                       range ? fmt::format("{:.9g}", range->first) : "",
                       range ? fmt::format("{:.9g}", range->second) : "",
                       csv::text_of(metrics.scaling_efficiency)};
    for (const auto& row : kLossCauses) record.push_back(csv::text_of(metrics.lost_to(row.cause)));
    text += csv::line_of(record);
  }
  return text;
}

}  // namespace ddpsim
