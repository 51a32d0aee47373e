#include "sim/report/sweep_table.hpp"

#include <algorithm>
#include <ostream>
#include <utility>

#include <fmt/core.h>

#include "sim/base/quantity.hpp"
#include "sim/report/cap_advice.hpp"
#include "sim/report/cap_formula.hpp"
#include "sim/report/table_parts.hpp"
#include "sim/report/verdict.hpp"

namespace ddpsim {

SweepColumns columns_of(const SweepResult& result) {
  auto any = [&](auto has) { return std::any_of(result.points.begin(), result.points.end(), has); };
  return {any([](const SweepPoint& point) { return point.metrics.range.has_value(); }), result.varies(),
          !result.measured.empty(),
          any([](const SweepPoint& point) { return point.metrics.memory.has_value(); }),
          !result.failed.empty()};
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
    columns.push_back({"fits", 5});
  }
  if (optional.range)
    for (const char* title : {"least ms", "most ms"}) columns.push_back({title, 10});
  if (optional.spread)
    for (const char* title : {"p5 ms", "median ms", "p95 ms"}) columns.push_back({title, 10});
  if (optional.measured) {
    columns.push_back({"measured ms", 12});
    columns.push_back({"error", 8});
  }
  if (optional.error) columns.push_back({kErrorTitle, 0});
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
    cells.emplace_back(m.memory ? fit_cell(m.memory->fit()) : "-");
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
  if (optional.error) cells.emplace_back();
  return cells;
}

std::vector<std::string> failed_cells(std::size_t columns, const FailedPoint& point) {
  auto cells = point.axis_values;
  cells.resize(columns - 1, "-");
  cells.push_back(point.reason());
  return cells;
}

std::string reported_iterations(const SweepResult& result) {
  for (const auto& point : result.points)
    if (const auto& spread = point.metrics.spread)
      return fmt::format("iterations are the {} of {} (seed {}), terms those of that iteration",
                         reported_iteration_name(spread->report), spread->iterations, spread->seed);
  return "";
}

SweepTable::SweepTable(std::ostream& out, const std::vector<AxisValues>& axes, SweepColumns optional,
                       TableStyle style)
    : out_(out), style_(style), optional_(optional), columns_(sweep_columns(axes, optional)) {
  for (const auto& axis : axes) axes_.push_back(axis.key);
}

void SweepTable::header() {
  print_titles(out_, columns_, style_);
  out_ << std::flush;
}

void SweepTable::row(const SweepPoint& point) {
  auto cells = sweep_cells(axes_, optional_, point);
  if (optional_.error && style_ == TableStyle::text) cells.pop_back();  // no blanks at the end of a line
  print_cells(out_, columns_, cells, style_);
  out_ << std::flush;  // a row is news while the next point still runs
}

void SweepTable::row(const FailedPoint& point) {
  print_cells(out_, columns_, failed_cells(columns_.size(), point), style_);
  out_ << std::flush;
}

void SweepTable::footer(const SweepResult& result) {
  if (auto note = result.failed_note(); !note.empty()) out_ << '\n' << note << '\n';
  for (const auto& line : result.failed_hints()) out_ << "- " << line << '\n';
  if (std::exchange(optional_.error, false)) columns_.pop_back();  // the best ones have results
  auto best_of_groups = result.best_by_group();
  if (best_of_groups.size() > 1) {
    out_ << "\nbest of each group\n" << (style_ == TableStyle::markdown ? "\n" : "");
    header();
    for (auto best : best_of_groups) row(result.points[best]);
  }
  if (auto note = result.trace_note(); !note.empty()) out_ << '\n' << note << '\n' << std::flush;
  if (auto which = reported_iterations(result); !which.empty()) out_ << '\n' << which << '\n';
  auto advice = cap_advice(result);
  if (best_of_groups.size() > 1 && !advice.empty()) {
    out_ << "\nwhat to pass to DistributedDataParallel\n";
    if (style_ == TableStyle::markdown) out_ << '\n';
    std::vector<std::vector<std::string>> rows;
    for (const auto& one : advice) rows.push_back(cap_cells(result, one));
    print_table(out_, cap_titles(result), rows, style_);
  }
  if (!result.formulas.empty()) {
    out_ << "\nthe textbook's formula beside the simulation\n";
    if (style_ == TableStyle::markdown) out_ << '\n';
    print_table(out_, formula_titles(result), formula_cells(result), style_);
  }
  auto lines = verdict_lines(result, optional_.range);
  for (auto& line : formula_lines(result)) lines.push_back(std::move(line));
  if (best_of_groups.size() == 1 && !advice.empty())
    for (auto& line : advice_lines(advice.front())) lines.push_back(std::move(line));
  // In Markdown lines that follow one another are one paragraph.
  const char* end = style_ == TableStyle::markdown ? "  \n" : "\n";
  for (const auto& line : lines) out_ << (&line == &lines.front() ? "\n" : "") << line << end;
  out_ << std::flush;
}

}  // namespace ddpsim
