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

using Cause = IterationRange::Cause;

// Of what nobody knows, or, wider, of iterations that differ: 5 to 95 %.
static std::optional<std::vector<Cause>> causes_of_range(const IterationMetrics& metrics) {
  if (const auto& spread = metrics.spread)
    return std::vector{Cause{"iterations", std::log(spread->p95 / metrics.iteration),
                             std::log(metrics.iteration / spread->p5)}};
  if (!metrics.range) return std::nullopt;
  return metrics.range->causes;
}

static Cause named(const std::vector<Cause>& causes, const std::string& name) {
  auto found = std::find_if(causes.begin(), causes.end(), [&](const Cause& one) { return one.name == name; });
  return found == causes.end() ? Cause{name} : *found;
}

// Each cause is as much longer or shorter on both numbers of GPUs, and independent of the others.
std::optional<std::pair<double, double>> Growth::efficiency_range(std::size_t point) const {
  auto first = causes_of_range(points.front().metrics), mine = causes_of_range(points[point].metrics);
  if (!first || !mine) return std::nullopt;
  auto all = *mine;
  for (const auto& cause : *first)
    if (std::none_of(all.begin(), all.end(), [&](const Cause& one) { return one.name == cause.name; }))
      all.push_back({cause.name});
  double up = 0, down = 0;  // squares of the logarithms of its change
  for (const auto& [name, longer, shorter] : all) {
    auto before = named(*first, name);
    double ends[] = {before.longer - longer, shorter - before.shorter, 0};
    auto [least, most] = std::minmax_element(std::begin(ends), std::end(ends));
    up += *most * *most, down += *least * *least;
  }
  return std::pair(efficiency(point) * std::exp(-std::sqrt(down)),
                   efficiency(point) * std::exp(std::sqrt(up)));
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
  if (has_range(growth)) out << "; from-to: its range over what is uncertain";
  if (has_reference(growth))
    out << "\nof one GPU: against one that communicates with nobody, and steps the whole optimizer";
  out << "\nother columns: what the iteration loses to each cause, in % of it";
  const auto& ends = row_of(LossCause::ends);
  if (std::ranges::count(causes_of(growth), ends.cause, &LossCauseRow::cause) > 0)
    out << fmt::format("; {}: {}", ends.key, ends.meaning);
  out << '\n';
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
