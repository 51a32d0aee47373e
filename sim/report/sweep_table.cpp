#include "sim/report/sweep_table.hpp"

#include <algorithm>
#include <iterator>
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
  auto add = [&cells](const auto& value, auto text) { cells.emplace_back(value ? text(*value) : "-"); };
  auto percent = [](double share) { return fmt::format("{:.1f} %", 100 * share); };
  add(m.samples_per_s, [](double rate) { return fmt::format("{:.5g}", rate); });
  add(m.scaling_efficiency, percent);
  if (optional.memory) {
    add(m.compute, [&](const auto& compute) { return percent(compute.mfu()); });
    add(m.memory, [](const auto& one) { return fmt::format("{:.1f}", one.parts.peak().value() / 1e9); });
    add(m.memory, [](const auto& one) { return fit_cell(one.fit()); });
  }
  if (optional.range)
    for (auto end : {&IterationRange::least, &IterationRange::most})
      add(m.range, [end](const auto& range) { return ms_text(range.*end); });
  if (optional.spread)
    for (auto quantile : {&IterationSpread::p5, &IterationSpread::median, &IterationSpread::p95})
      add(m.spread, [quantile](const auto& spread) { return ms_text(spread.*quantile); });
  if (optional.measured) {
    add(point.measured, [](const auto& measured) { return ms_text(measured.iteration); });
    add(point.measured, [&](const auto& measured) { return percent_text(relative_error(m, measured)); });
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

static void print_heading(std::ostream& out, const char* text, TableStyle style) {
  out << '\n' << text << '\n' << (style == TableStyle::markdown ? "\n" : "");
}

static void print_advice(std::ostream& out, const SweepResult& result, const std::vector<CapAdvice>& advice,
                         TableStyle style) {
  print_heading(out, "what to pass to DistributedDataParallel", style);
  std::vector<std::vector<std::string>> rows;
  for (const auto& one : advice) rows.push_back(cap_cells(result, one));
  print_table(out, cap_titles(result), rows, style);
}

static void print_lines(std::ostream& out, const std::vector<std::string>& lines, TableStyle style) {
  // In Markdown lines that follow one another are one paragraph.
  const char* end = style == TableStyle::markdown ? "  \n" : "\n";
  for (const auto& line : lines) out << (&line == &lines.front() ? "\n" : "") << line << end;
  out << std::flush;
}

void SweepTable::footer(const SweepResult& result) {
  if (auto note = result.failed_note(); !note.empty()) out_ << '\n' << note << '\n';
  for (const auto& line : result.failed_hints()) out_ << "- " << line << '\n';
  if (std::exchange(optional_.error, false)) columns_.pop_back();  // the best ones have results
  auto best_of_groups = result.best_by_group();
  bool has_groups = best_of_groups.size() > 1;
  if (has_groups) {
    print_heading(out_, "best of each group", style_);
    header();
    for (auto best : best_of_groups) row(result.points[best]);
  }
  if (auto note = result.trace_note(); !note.empty()) out_ << '\n' << note << '\n' << std::flush;
  if (auto which = reported_iterations(result); !which.empty()) out_ << '\n' << which << '\n';
  auto advice = cap_advice(result);
  if (has_groups && !advice.empty()) print_advice(out_, result, advice, style_);
  if (!result.formulas.empty()) {
    print_heading(out_, "the textbook's formula beside the simulation", style_);
    print_table(out_, formula_titles(result), formula_cells(result), style_);
  }
  auto lines = verdict_lines(result, optional_.range);
  std::ranges::move(formula_lines(result), std::back_inserter(lines));
  if (best_of_groups.size() == 1 && !advice.empty())
    std::ranges::move(advice_lines(advice.front()), std::back_inserter(lines));
  print_lines(out_, lines, style_);
}

}  // namespace ddpsim
