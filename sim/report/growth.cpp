#include "sim/report/growth.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <ostream>

#include <fmt/format.h>

#include "sim/base/counted.hpp"
#include "sim/report/csv_parts.hpp"
#include "sim/report/figures.hpp"
#include "sim/report/shown_table.hpp"
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

static ShownTable growth_table(const Growth& growth) {
  struct Row {
    const IterationMetrics* metrics;
    double keeps;
    std::optional<std::pair<double, double>> range;
  };
  std::vector<Row> rows;
  for (std::size_t i = 0; i < growth.points.size(); ++i)
    rows.push_back({&growth.points[i].metrics, growth.efficiency(i), growth.efficiency_range(i)});
  ShownTable table;
  auto add = [&](const char* head, auto value, int drop, Form form = Form::plain) {
    table.add(
        head, rows, [&](const Row& row) { return Cell(value(*row.metrics)); }, drop, form);
  };
  add(
      "GPUs", [](const auto& m) { return m.world_size; }, 0);
  add(
      "step", [](const auto& m) { return m.iteration; }, 1);
  table.add("keeps", rows, &Row::keeps, 0, Form::share);
  table.add(
      "range", rows,
      [](const Row& row) {
        return row.range ? Cell(Cell::List{row.range->first, row.range->second}) : Cell();
      },
      2, Form::share);
  add(
      "of one GPU", [](const auto& m) { return m.scaling_efficiency; }, 4, Form::share);
  add(
      "tokens/s", [](const auto& m) { return m.tokens_per_s; }, 3);
  add(
      "days", [](const auto& m) { return m.training_days(); }, 0);
  add(
      "cost", [](const auto& m) { return m.training_cost(); }, 0);
  int drop = 5;
  for (const auto& cause : causes_of(growth))
    add(
        std::string(cause_name(cause)).c_str(),
        [&](const auto& m) { return m.lost_to(cause.cause) / m.iteration; }, drop++, Form::share);
  for (const auto& point : growth.points) {
    const auto& memory = point.metrics.memory;
    table.marks.push_back(memory && memory->fit() == Fit::no ? Mark::unfit : Mark::none);
  }
  if (std::ranges::count(table.marks, Mark::unfit) == 0) table.marks.clear();
  return table;
}

// What a GPU keeps of its speed, what most is lost to, and from where on it is little.
static std::string growth_verdict(const Growth& growth) {
  constexpr double kMuch = 0.9;
  auto last = growth.points.size() - 1;
  const auto &first = growth.points.front().metrics, &most = growth.points[last].metrics;
  if (last == 0)
    return fmt::format("{} GPUs take {}.", decimal_text(first.world_size, 0), likely_text(first));
  auto line =
      fmt::format("From {} to {} GPUs a GPU keeps {:.0f} % of its speed", decimal_text(first.world_size, 0),
                  decimal_text(most.world_size, 0), 100 * growth.efficiency(last));
  if (auto range = growth.efficiency_range(last))
    line += fmt::format(" ({:.0f}–{:.0f}, {})", 100 * range->first, 100 * range->second,
                        most.spread ? "5 to 95 % of steps" : "80 % sure");
  auto lost = [&](const LossCauseRow& row) {
    return most.lost_to(row.cause) / most.iteration - first.lost_to(row.cause) / first.iteration;
  };
  auto causes = causes_of(growth);
  if (auto worst = std::ranges::max_element(causes, {}, lost); worst != causes.end() && lost(*worst) > 0.005)
    line += fmt::format("; most is lost to {}", cause_name(*worst));
  for (std::size_t i = 1; i <= last; ++i)
    if (growth.efficiency(i) < kMuch)
      return fmt::format("{}. Below {:.0f} % from {} on.", line, 100 * kMuch,
                         decimal_text(growth.points[i].metrics.world_size, 0));
  return line + ".";
}

void print_growth(std::ostream& out, const Terminal& terminal, const Growth& growth, TableStyle style) {
  bool is_markdown = style == TableStyle::markdown;
  auto say = [&](const std::string& line, Look look = Look::plain) {
    out << (is_markdown ? line + "  " : terminal.wrapped(line, look)) << '\n';
  };
  auto table = growth_table(growth);
  is_markdown ? print_markdown(out, table) : print_shown(out, terminal, table);
  out << '\n';
  say(growth_verdict(growth), Look::verdict);
  const auto& first = growth.points.front().metrics;
  for (const auto& [metrics, share] : growth.points)
    if (metrics.memory && !metrics.memory->fits())
      say(fmt::format("on {} it {}", counted(metrics.world_size, "GPU"), fit_line(*metrics.memory)));
  std::string meaning = growth.scaling == Scaling::weak
                            ? "weak scaling: every GPU does the same, however many there are"
                            : "strong scaling: all GPUs together do the same, however many there are";
  meaning += "; keeps: work a GPU and second, against the first row";
  if (first.scaling_efficiency)
    meaning += "; of one GPU: against one that communicates with nobody, and steps the whole optimizer";
  if (const auto& spread = first.spread)
    meaning += fmt::format("; steps differ: each is the {} of {} (seed {})",
                           reported_iteration_name(spread->report), spread->iterations, spread->seed);
  say(meaning + "; other columns: what the step loses to each cause", Look::dim);
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
