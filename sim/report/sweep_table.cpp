#include "sim/report/sweep_table.hpp"

#include <algorithm>
#include <ostream>

#include <fmt/core.h>

#include "sim/base/quantity.hpp"
#include "sim/report/table_parts.hpp"

namespace ddpsim {
namespace {

// What of an iteration is not known to a number: "interference (176 ms of it) and ...".
std::string uncertain_causes(const IterationMetrics& metrics) {
  std::string causes;
  for (const auto& [cause, lost] : metrics.losses) {
    bool is_spread = cause == "spread" && metrics.range->of_spread;
    bool is_interference = cause == "interference" && metrics.range->of_interference;
    if (is_spread || is_interference)
      causes += fmt::format("{}{} ({:.3g} ms of it)", causes.empty() ? "" : " and ",
                            is_spread ? "the spread of GPUs" : cause, 1e3 * lost.value());
  }
  return causes;
}

// What the best takes at most and least, and what is best there.
std::vector<std::string> range_lines(const SweepResult& result) {
  std::vector<std::string> lines;
  const auto& middle = result.points[result.best()].metrics;
  if (middle.range)
    if (auto causes = uncertain_causes(middle); !causes.empty())
      lines.push_back(fmt::format("the best takes {} to {}, uncalibrated: {}",
                                  format_seconds(middle.range->least), format_seconds(middle.range->most),
                                  causes));
  for (auto [name, end] :
       {std::pair("least", &IterationRange::least), std::pair("most", &IterationRange::most)}) {
    auto changed = result;
    for (auto& point : changed.points)
      if (point.metrics.range) point.metrics.iteration = *point.metrics.range.*end;
    const auto& best = changed.points[changed.best()];
    lines.push_back(fmt::format("best where {} is lost: {}{}iteration {}", name,
                                point_name(result.axes, best.axis_values, best.metrics),
                                result.axes.empty() ? "" : ", ", format_seconds(best.metrics.iteration)));
  }
  return lines;
}

}  // namespace

SweepColumns columns_of(const SweepResult& result) {
  auto any = [&](auto has) { return std::any_of(result.points.begin(), result.points.end(), has); };
  return {any([](const SweepPoint& point) { return point.metrics.range.has_value(); }), result.varies(),
          !result.measured.empty(),
          any([](const SweepPoint& point) { return point.metrics.memory.has_value(); })};
}

std::vector<TableColumn> sweep_columns(const std::vector<AxisValues>& axes, SweepColumns optional) {
  auto columns = axis_columns(axes);
  for (const char* title : {"iteration ms", "exposed ms", "comm. ms"}) columns.push_back({title, 12});
  columns.push_back({"buckets", 7});
  columns.push_back({"samples/s", 10});
  columns.push_back({"efficiency", 10});
  if (optional.memory) {
    columns.push_back({"MFU", 7});
    columns.push_back({"memory GB", 10});
    columns.push_back({"fits", 4});
  }
  if (optional.range)
    for (const char* title : {"least ms", "most ms"}) columns.push_back({title, 10});
  if (optional.spread)
    for (const char* title : {"p5 ms", "median ms", "p95 ms"}) columns.push_back({title, 10});
  if (optional.measured) {
    columns.push_back({"measured ms", 12});
    columns.push_back({"error", 8});
  }
  return columns;
}

std::vector<std::string> sweep_cells(const std::vector<std::string>& axes, SweepColumns optional,
                                     const SweepPoint& point) {
  const auto& m = point.metrics;
  auto cells = axis_cells(axes, point.axis_values, m);
  for (auto time : {m.iteration, m.exposed_communication, m.communication}) cells.push_back(ms_text(time));
  cells.push_back(fmt::format("{}", m.n_buckets));
  cells.push_back(m.samples_per_s ? fmt::format("{:.5g}", *m.samples_per_s) : "-");
  cells.push_back(m.scaling_efficiency ? fmt::format("{:.1f} %", 100 * *m.scaling_efficiency) : "-");
  if (optional.memory) {
    cells.push_back(m.compute ? fmt::format("{:.1f} %", 100 * m.compute->mfu()) : "-");
    cells.push_back(m.memory ? fmt::format("{:.1f}", m.memory->parts.peak().value() / 1e9) : "-");
    cells.push_back(m.memory ? (m.memory->fits() ? "yes" : "no") : "-");
  }
  if (optional.range)
    for (auto end : {&IterationRange::least, &IterationRange::most})
      cells.push_back(m.range ? ms_text(*m.range.*end) : "-");
  if (optional.spread)
    for (auto quantile : {&IterationSpread::p5, &IterationSpread::median, &IterationSpread::p95})
      cells.push_back(m.spread ? ms_text(*m.spread.*quantile) : "-");
  if (optional.measured) {
    cells.push_back(point.measured ? ms_text(point.measured->iteration) : "-");
    cells.push_back(point.measured ? percent_text(relative_error(m, *point.measured)) : "-");
  }
  return cells;
}

namespace {

// Where memory decides, or nothing fits.
std::string memory_line(const SweepResult& result) {
  const auto& best = result.points[result.best()].metrics;
  const auto& fastest = result.points[result.fastest()];
  if (best.memory && !best.memory->fits())
    return "none of the points fits into a GPU's memory: 'ddpsim memory' says what would";
  if (fastest.metrics.iteration == best.iteration) return "";
  return fmt::format("(faster, but does not fit into a GPU's memory: {}{}{})",
                     point_name(result.axes, fastest.axis_values, fastest.metrics),
                     result.axes.empty() ? "" : ", ", format_seconds(fastest.metrics.iteration));
}

}  // namespace

std::vector<std::string> best_lines(const SweepResult& result, bool has_range) {
  if (!result.compares_choices()) return {};
  auto lines = has_range ? range_lines(result) : std::vector<std::string>{};
  const auto& best = result.points[result.best()];
  auto worst = best.metrics.iteration;
  for (const auto& point : result.points) worst = std::max(worst, point.metrics.iteration);
  lines.push_back(fmt::format("best: {}{}iteration {}",
                              point_name(result.axes, best.axis_values, best.metrics),
                              result.axes.empty() ? "" : ", ", format_seconds(best.metrics.iteration)));
  if (result.best_by_group().size() == 1 && worst > best.metrics.iteration * 1.0005)
    lines.back() +=
        fmt::format(", {:.1f} % shorter than the longest", 100 * (1 - best.metrics.iteration / worst));
  if (auto line = memory_line(result); !line.empty()) lines.push_back(std::move(line));
  return lines;
}

std::string reported_iterations(const SweepResult& result) {
  for (const auto& point : result.points)
    if (const auto& spread = point.metrics.spread)
      return fmt::format("iterations are the {} of {} (seed {}), terms those of that iteration",
                         reported_iteration_name(spread->report), spread->iterations, spread->seed);
  return "";
}

SweepTable::SweepTable(std::ostream& out, const std::vector<AxisValues>& axes, SweepColumns optional)
    : out_(out), optional_(optional), columns_(sweep_columns(axes, optional)) {
  for (const auto& axis : axes) axes_.push_back(axis.key);
}

void SweepTable::header() {
  print_titles(out_, columns_);
  out_ << std::flush;
}

void SweepTable::row(const SweepPoint& point) {
  print_cells(out_, columns_, sweep_cells(axes_, optional_, point));
  out_ << std::flush;  // a row is news while the next point still runs
}

void SweepTable::footer(const SweepResult& result) {
  if (auto note = result.lost_note(); !note.empty()) out_ << '\n' << note << '\n';
  auto best_of_groups = result.best_by_group();
  if (best_of_groups.size() > 1) {
    out_ << "\nbest of each group\n";
    header();
    for (auto best : best_of_groups) row(result.points[best]);
  }
  if (auto note = result.trace_note(); !note.empty()) out_ << '\n' << note << '\n' << std::flush;
  if (auto which = reported_iterations(result); !which.empty()) out_ << '\n' << which << '\n';
  auto lines = best_lines(result, optional_.range);
  for (const auto& line : lines) out_ << '\n' << line;
  if (!lines.empty()) out_ << '\n' << std::flush;
}

}  // namespace ddpsim
