#include "validate/comparison/report_text.hpp"

#include <algorithm>
#include <ostream>

#include <fmt/core.h>

#include "sim/report/collective_table.hpp"
#include "sim/report/shown_table.hpp"
#include "sim/report/table_parts.hpp"

namespace ddpsim::validate {
namespace {

constexpr std::size_t kMostBuckets = 64;  // as in print_iteration

// With one point there was nothing to choose.
std::string best_of(const ValidationReport& report, std::size_t point) {
  std::string text;
  for (const auto& choice : report.choices) {
    if (choice.points.size() < 2) continue;
    if (choice.predicted_best == point) text += "predicted best";
    if (choice.measured_best == point) text += text.empty() ? "measured best" : ", measured best";
  }
  return text;
}

ShownTable points_table(const ValidationReport& report) {
  const auto& points = report.points;
  ShownTable table;
  for (std::size_t axis = 0; axis < report.axes.size(); ++axis)
    table.add(short_title(report.axes, report.axes[axis]), points, [&](const ComparedPoint& point) {
      return axis_cells(report.axes, point.axis_values, point.predicted).at(axis);
    });
  table.add(
      "buckets", points, [](const ComparedPoint& point) { return point.predicted.n_buckets; }, 2);
  table.add("predicted", points, [](const ComparedPoint& point) { return point.predicted.iteration; });
  table.add("measured", points, &ComparedPoint::measured);
  table.add(
      "±", points, [](const ComparedPoint& point) { return Cell(point.spread); }, 1);
  table.add(
      "error", points, [](const ComparedPoint& point) { return Cell(point.error()); }, 0, Form::change);
  table.add(
      "exposed error", points, [](const ComparedPoint& point) { return Cell(point.exposed_error()); }, 3,
      Form::change);
  table.add(
      "", points, [](const ComparedPoint& point) { return point.settled ? "" : "not settled"; }, 0,
      Form::plain, true);
  std::vector<std::size_t> places(points.size());
  for (std::size_t i = 0; i < places.size(); ++i) places[i] = i;
  table.add(
      "", places, [&](std::size_t i) { return best_of(report, i); }, 0, Form::plain, true);
  for (auto i : places)
    table.marks.push_back(best_of(report, i).ends_with("measured best") ? Mark::best : Mark::none);
  if (std::ranges::count(table.marks, Mark::best) == 0) table.marks.clear();
  return table;
}

void print_points(std::ostream& out, const ValidationReport& report) {
  print_shown(out, standard_output(), points_table(report));
  if (std::any_of(report.points.begin(), report.points.end(), [](const auto& p) { return !p.settled; }))
    out << "not settled: the median was not as certain as asked for when repetitions or time ran out\n";
}

// Within its group: "25MiB" where caps are compared.
std::string candidate(const ValidationReport& report, std::size_t point) {
  auto cap = std::find(report.axes.begin(), report.axes.end(), kBucketCapAxis);
  if (cap == report.axes.end()) return report.name_of(point);
  return report.points[point].axis_values.at(static_cast<std::size_t>(cap - report.axes.begin()));
}

void print_choice(std::ostream& out, const ValidationReport& report, const Choice& choice) {
  out << fmt::format("{}{}predicted best {}, measured best {}: regret {:.1f} %", choice.group,
                     choice.group.empty() ? "" : ": ", candidate(report, choice.predicted_best),
                     candidate(report, choice.measured_best), 100 * choice.regret);
  if (choice.pairs_in_order)
    out << fmt::format(", {:.1f} % of the pairs in order", 100 * *choice.pairs_in_order);
  out << '\n';
}

void print_summary(std::ostream& out, const ValidationReport& report) {
  auto farthest = report.farthest();
  auto name = report.name_of(farthest);
  out << fmt::format("\nlargest error: {}{}{}\n", percent_text(report.points[farthest].error()),
                     name.empty() ? "" : ", of ", name);
  bool any_order = false;
  for (const auto& choice : report.choices) {
    if (choice.points.size() < 2) continue;
    print_choice(out, report, choice);
    any_order = any_order || choice.pairs_in_order;
  }
  if (any_order)
    out << "(pairs whose measured iterations differ by more than twice their standard deviation)\n";
  for (const auto& sentence : report.missed()) out << fmt::format("missed: {}\n", sentence);
  for (const auto& sentence : report.too_noisy()) out << fmt::format("too noisy to judge: {}\n", sentence);
}

void print_buckets(std::ostream& out, const ComparedPoint& point, const std::string& name) {
  out << fmt::format("\n{}{}measured and predicted, in ms from the start of the backward pass\n", name,
                     name.empty() ? "" : ": ");
  print_collective_titles(out, {"measured", "launch"}, {"predicted", "ready"});
  const auto& buckets = point.buckets;
  auto left_out = buckets.size() > kMostBuckets ? buckets.size() - kMostBuckets : 0;
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    if (left_out > 0 && i == kMostBuckets / 2) {
      out << fmt::format("   ... {} more\n", left_out);
      i += left_out;
    }
    const auto& [predicted, measured] = buckets[i];
    print_collectives(out, predicted.index, predicted.bytes, {measured.launch, measured.start, measured.end},
                      {predicted.ready, predicted.start, predicted.end});
  }
}

}  // namespace

void print_report(std::ostream& out, const ValidationReport& report, bool buckets) {
  out << fmt::format("{}, measured: {}\n", report.title, report.measurement);
  if (!report.prediction.empty()) out << fmt::format("predicted from {}\n", report.prediction);
  if (auto note = report.trace_note(); !note.empty()) out << note << '\n';
  out << '\n';
  print_points(out, report);
  print_summary(out, report);
  if (!buckets) return;
  for (std::size_t i = 0; i < report.points.size(); ++i)
    if (!report.points[i].buckets.empty()) print_buckets(out, report.points[i], report.name_of(i));
}

}  // namespace ddpsim::validate
