#include "sim/report/result_csv.hpp"

#include <algorithm>
#include <span>

#include "sim/report/csv_parts.hpp"
#include "sim/result/iteration_columns.hpp"

namespace ddpsim {
namespace {

using csv::Record;

// What every sweep has, whether a point is best, and then what not every sweep has.
Columns<SweepPoint> columns_of_points(const SweepResult& result) {
  Columns<SweepPoint> columns, optional;
  for (const auto& column : std::span(kPointColumns).first(kIterationColumns.size()))
    if (has(column.in, kCsv)) (has(column.in, kSomeCsv) ? optional : columns).push_back(column);
  auto add = [&columns](const Columns<SweepPoint>& more) {
    columns.insert(columns.end(), more.begin(), more.end());
  };
  auto best = result.best_by_group();
  columns.push_back({"best", [&result, best](const SweepPoint& point) {
                       return std::ranges::count(best,
                                                 static_cast<std::size_t>(&point - result.points.data())) > 0;
                     }});
  if (std::ranges::any_of(result.points, [](const auto& point) { return point.measured.has_value(); }))
    add(kMeasuredColumns);
  auto odds = odds_columns(&SweepPoint::odds);
  optional.insert(optional.end(), odds.begin(), odds.end());
  add(columns_in_csv(optional, result.points));
  if (!result.failed.empty()) columns.push_back({"error", [](const SweepPoint&) { return Cell(); }});
  return columns;
}

// What is known of a point without results: its axes, in the columns that results would have, and its error.
Record failed_record(const std::vector<std::string>& axes, const FailedPoint& point, const Record& header) {
  auto record = csv::other_axes(axes, point.axis_values);
  record.resize(header.size() - 1);
  for (std::size_t axis = 0; axis < axes.size(); ++axis)
    if (auto column = csv::result_column(axes[axis]); !column.empty())
      record[static_cast<std::size_t>(std::find(header.begin(), header.end(), column) - header.begin())] =
          point.axis_values[axis];
  record.push_back(point.reason());
  return record;
}

}  // namespace

std::string sweep_csv(const SweepResult& result) {
  auto columns = columns_of_points(result);
  auto header = csv::other_axes(result.axes, result.axes);
  csv::append(header, csv::header(columns));
  std::string text = csv::line_of(header);
  auto failed = result.failed.begin();
  auto add_failed_before = [&](std::size_t point) {
    for (; failed != result.failed.end() && failed->before <= point; ++failed)
      text += csv::line_of(failed_record(result.axes, *failed, header));
  };
  for (std::size_t i = 0; i < result.points.size(); ++i) {
    add_failed_before(i);
    auto record = csv::other_axes(result.axes, result.points[i].axis_values);
    csv::append(record, csv::record(columns, result.points[i]));
    text += csv::line_of(record);
  }
  add_failed_before(result.points.size());
  return text;
}

std::string buckets_csv(const IterationMetrics& metrics) {
  if (metrics.shared_model) return csv::table(kOperationColumns, metrics.operations);
  auto columns = kBucketColumns;
  if (const auto& mark = metrics.trace_synthetic)
    columns.push_back({"trace_synthetic", [&mark](const BucketMetrics&) { return *mark; }});
  return csv::table(columns, metrics.buckets);
}

}  // namespace ddpsim
