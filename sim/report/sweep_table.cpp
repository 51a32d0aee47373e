#include "sim/report/sweep_table.hpp"

#include <algorithm>
#include <iterator>
#include <map>
#include <ostream>
#include <utility>

#include <fmt/core.h>

#include "sim/base/quantity.hpp"
#include "sim/report/cap_advice.hpp"
#include "sim/report/cap_formula.hpp"
#include "sim/report/table_parts.hpp"
#include "sim/report/verdict.hpp"
#include "sim/result/iteration_columns.hpp"

namespace ddpsim {

SweepColumns columns_of(const SweepResult& result) {
  auto any = [&](auto has) { return std::any_of(result.points.begin(), result.points.end(), has); };
  return {any([](const SweepPoint& point) { return point.metrics.uncertainty != nullptr; }),
          result.varies(),
          !result.measured.empty(),
          any([](const SweepPoint& point) { return point.metrics.memory.has_value(); }),
          !result.failed.empty(),
          any([](const SweepPoint& point) { return point.odds.has_value(); })};
}

namespace {

enum class Form { plain, share, change };

// A column for people: of which figure, and which sweeps have it; none: all.
struct ShownColumn {
  std::string_view key;
  const char* title;
  std::size_t width;
  bool SweepColumns::*where = nullptr;
  Form form = Form::plain;
};
constexpr ShownColumn kShown[] = {{"iteration_s", "iteration ms", 12},
                                  {"exposed_communication_s", "exposed ms", 12},
                                  {"communication_s", "comm. ms", 12},
                                  {"n_buckets", "buckets", 7},
                                  {"samples_per_s", "samples/s", 10},
                                  {"scaling_efficiency", "efficiency", 10, nullptr, Form::share},
                                  {"mfu", "MFU", 7, &SweepColumns::memory, Form::share},
                                  {"memory_peak_bytes", "memory GB", 10, &SweepColumns::memory},
                                  {"fit", "fits", 5, &SweepColumns::memory},
                                  {"p10_s", "p10 ms", 10, &SweepColumns::range},
                                  {"p90_s", "p90 ms", 10, &SweepColumns::range},
                                  {"p_best", "P(best)", 8, &SweepColumns::odds, Form::share},
                                  {"regret", "regret", 8, &SweepColumns::odds, Form::share},
                                  {"p5_s", "p5 ms", 10, &SweepColumns::spread},
                                  {"median_s", "median ms", 10, &SweepColumns::spread},
                                  {"p95_s", "p95 ms", 10, &SweepColumns::spread},
                                  {"measured_iteration_s", "measured ms", 12, &SweepColumns::measured},
                                  {"relative_error", "error", 8, &SweepColumns::measured, Form::change}};

std::string shown(const Cell& cell, Form form) {
  return std::visit(
      [form](const auto& value) -> std::string {
        using T = std::decay_t<decltype(value)>;
        if constexpr (std::same_as<T, Seconds>)
          return ms_text(value);
        else if constexpr (std::same_as<T, Bytes>)
          return fmt::format("{:.1f}", value.value() / 1e9);
        else if constexpr (std::same_as<T, double>)
          return form == Form::change  ? percent_text(value)
                 : form == Form::share ? fmt::format("{:.1f} %", 100 * value)
                                       : fmt::format("{:.5g}", value);
        else if constexpr (std::same_as<T, std::string> || std::same_as<T, std::int64_t>)
          return fmt::format("{}", value);
        else
          return "-";
      },
      cell.value);
}

}  // namespace

std::vector<TableColumn> sweep_columns(const std::vector<AxisValues>& axes, SweepColumns optional) {
  auto columns = axis_columns(axes);
  for (const auto& one : kShown)
    if (!one.where || optional.*one.where) columns.push_back({one.title, one.width});
  if (optional.error) columns.push_back({kErrorTitle, 0});
  return columns;
}

std::vector<std::string> sweep_cells(const std::vector<std::string>& axes, SweepColumns optional,
                                     const SweepPoint& point) {
  auto cells = axis_cells(axes, point.axis_values, point.metrics);
  for (const auto& one : kShown)
    if (!one.where || optional.*one.where) {
      static const std::map<std::string_view, const Column<SweepPoint>*> by_key = [] {
        std::map<std::string_view, const Column<SweepPoint>*> found;
        for (const auto& column : kPointColumns) found[column.key] = &column;
        return found;
      }();
      cells.push_back(shown(by_key.at(one.key)->value(point), one.form));
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
  if (best_of_groups.size() == 1)
    if (auto training = training_text(result.points[best_of_groups.front()].metrics); !training.empty())
      lines.push_back("the best: " + training);
  if (best_of_groups.size() == 1 && !advice.empty())
    std::ranges::move(advice_lines(advice.front()), std::back_inserter(lines));
  print_lines(out_, lines, style_);
}

}  // namespace ddpsim
