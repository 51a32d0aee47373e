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

}  // namespace

SweepTable::SweepTable(std::ostream& out, const std::vector<AxisValues>& axes, SweepColumns optional)
    : out_(out), optional_(optional) {
  for (const auto& axis : axes) axes_.push_back(axis.key);
  columns_ = axis_columns(axes);
  for (const char* title : {"iteration ms", "exposed ms", "comm. ms"}) columns_.push_back({title, 12});
  columns_.push_back({"buckets", 7});
  columns_.push_back({"samples/s", 10});
  columns_.push_back({"efficiency", 10});
  if (optional_.memory) {
    columns_.push_back({"MFU", 7});
    columns_.push_back({"memory GB", 10});
    columns_.push_back({"fits", 4});
  }
  if (optional_.range)
    for (const char* title : {"least ms", "most ms"}) columns_.push_back({title, 10});
  if (optional_.spread)
    for (const char* title : {"p5 ms", "median ms", "p95 ms"}) columns_.push_back({title, 10});
  if (optional_.measured) {
    columns_.push_back({"measured ms", 12});
    columns_.push_back({"error", 8});
  }
}

void SweepTable::header() {
  print_titles(out_, columns_);
  out_ << std::flush;
}

std::vector<std::string> SweepTable::cells(const SweepPoint& point) const {
  const auto& m = point.metrics;
  auto cells = axis_cells(axes_, point.axis_values, m);
  for (auto time : {m.iteration, m.exposed_communication, m.communication}) cells.push_back(ms_text(time));
  cells.push_back(fmt::format("{}", m.n_buckets));
  cells.push_back(m.samples_per_s ? fmt::format("{:.5g}", *m.samples_per_s) : "-");
  cells.push_back(m.scaling_efficiency ? fmt::format("{:.1f} %", 100 * *m.scaling_efficiency) : "-");
  if (optional_.memory) {
    cells.push_back(m.compute ? fmt::format("{:.1f} %", 100 * m.compute->mfu()) : "-");
    cells.push_back(m.memory ? fmt::format("{:.1f}", m.memory->parts.peak().value() / 1e9) : "-");
    cells.push_back(m.memory ? (m.memory->fits() ? "yes" : "no") : "-");
  }
  if (optional_.range)
    for (auto end : {&IterationRange::least, &IterationRange::most})
      cells.push_back(m.range ? ms_text(*m.range.*end) : "-");
  if (optional_.spread)
    for (auto quantile : {&IterationSpread::p5, &IterationSpread::median, &IterationSpread::p95})
      cells.push_back(m.spread ? ms_text(*m.spread.*quantile) : "-");
  if (optional_.measured) {
    cells.push_back(point.measured ? ms_text(point.measured->iteration) : "-");
    cells.push_back(point.measured ? percent_text(relative_error(m, *point.measured)) : "-");
  }
  return cells;
}

void SweepTable::row(const SweepPoint& point) {
  print_cells(out_, columns_, cells(point));
  out_ << std::flush;  // a row is news while the next point still runs
}

// What the best takes at most and least, and what is best there.
void SweepTable::range_footer(const SweepResult& result) {
  const auto& middle = result.points[result.best()].metrics;
  if (middle.range)
    if (auto causes = uncertain_causes(middle); !causes.empty())
      out_ << fmt::format("\nthe best takes {} to {}, uncalibrated: {}", format_seconds(middle.range->least),
                          format_seconds(middle.range->most), causes);
  for (auto [name, end] :
       {std::pair("least", &IterationRange::least), std::pair("most", &IterationRange::most)}) {
    auto changed = result;
    for (auto& point : changed.points)
      if (point.metrics.range) point.metrics.iteration = *point.metrics.range.*end;
    const auto& best = changed.points[changed.best()];
    out_ << fmt::format("\nbest where {} is lost: {}{}iteration {}", name,
                        point_name(result.axes, best.axis_values, best.metrics),
                        result.axes.empty() ? "" : ", ", format_seconds(best.metrics.iteration));
  }
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
  for (const auto& point : result.points)
    if (const auto& spread = point.metrics.spread) {
      out_ << fmt::format("\niterations are the {} of {} (seed {}), terms those of that iteration\n",
                          reported_iteration_name(spread->report), spread->iterations, spread->seed);
      break;
    }
  if (!result.compares_choices()) return;
  if (optional_.range) range_footer(result);
  const auto& best = result.points[result.best()];
  auto worst = best.metrics.iteration;
  for (const auto& point : result.points) worst = std::max(worst, point.metrics.iteration);
  out_ << fmt::format("\nbest: {}{}iteration {}", point_name(result.axes, best.axis_values, best.metrics),
                      result.axes.empty() ? "" : ", ", format_seconds(best.metrics.iteration));
  if (best_of_groups.size() == 1 && worst > best.metrics.iteration * 1.0005)
    out_ << fmt::format(", {:.1f} % shorter than the longest", 100 * (1 - best.metrics.iteration / worst));
  out_ << '\n';
  memory_footer(result);
  out_ << std::flush;
}

// Where memory decides, or nothing fits.
void SweepTable::memory_footer(const SweepResult& result) {
  const auto& best = result.points[result.best()].metrics;
  const auto& fastest = result.points[result.fastest()];
  if (best.memory && !best.memory->fits())
    out_ << "none of the points fits into a GPU's memory: 'ddpsim memory' says what would\n";
  else if (fastest.metrics.iteration < best.iteration)
    out_ << fmt::format("(faster, but does not fit into a GPU's memory: {}{}{})\n",
                        point_name(result.axes, fastest.axis_values, fastest.metrics),
                        result.axes.empty() ? "" : ", ", format_seconds(fastest.metrics.iteration));
}

}  // namespace ddpsim
