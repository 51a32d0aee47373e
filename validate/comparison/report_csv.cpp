#include "validate/comparison/report_csv.hpp"

#include "sim/report/csv_parts.hpp"
#include "sim/result/iteration_columns.hpp"

namespace ddpsim::validate {
namespace {

// A point, or one of its buckets.
struct Row {
  const ComparedPoint* point;
  const ComparedBucket* bucket = nullptr;
};

template <class T>
Column<Row> of_point(std::string_view key, T value, unsigned in = kCsv) {
  return {key, [value](const Row& row) { return Cell(std::invoke(value, *row.point)); }, in};
}
template <class T>
Column<Row> of_bucket(std::string_view key, T value) {
  return {key, [value](const Row& row) { return Cell(std::invoke(value, *row.bucket)); }};
}

// What tells a point from others, and `more`.
std::string table(const ValidationReport& report, const std::vector<Row>& rows, const Columns<Row>& more) {
  Columns<Row> columns;
  for (std::size_t axis = 0; axis < report.axes.size(); ++axis)
    if (csv::result_column(report.axes[axis]).empty())
      columns.push_back(
          of_point(report.axes[axis], [axis](const auto& point) { return point.axis_values[axis]; }));
  for (const auto& column : kIterationColumns)
    for (std::string_view key : {"world_size", "strategy", "bucket_cap_bytes", "n_buckets"})
      if (column.key == key)
        columns.push_back(
            of_point(key, [&column](const auto& point) { return column.value(point.predicted); }));
  columns.insert(columns.end(), more.begin(), more.end());
  return csv::table(columns, rows);
}

}  // namespace

std::string validation_csv(const ValidationReport& report) {
  using P = ComparedPoint;
  std::vector<Row> rows;
  for (const auto& point : report.points) rows.push_back({&point});
  return table(
      report, rows,
      {of_point("predicted_iteration_s", [](const P& point) { return point.predicted.iteration; }),
       of_point("measured_iteration_s", &P::measured), of_point("measured_std_s", &P::spread),
       of_point("measured_least_s", &P::measured_least), of_point("measured_most_s", &P::measured_most),
       of_point("n_samples",
                [](const P& point) { return point.samples.empty() ? Cell() : Cell(point.samples.size()); }),
       of_point("relative_error", &P::error), of_point("exposed_relative_error", &P::exposed_error),
       of_point(
           "trace_synthetic", [](const P& point) { return point.predicted.trace_synthetic; }, kSomeCsv)});
}

std::string buckets_csv(const ValidationReport& report) {
  using B = ComparedBucket;
  std::vector<Row> rows;
  for (const auto& point : report.points)
    for (const auto& bucket : point.buckets) rows.push_back({&point, &bucket});
  return table(report, rows,
               {of_bucket("index", [](const B& one) { return one.predicted.index; }),
                of_bucket("bytes", [](const B& one) { return one.predicted.bytes; }),
                of_bucket("predicted_ready_s", [](const B& one) { return one.predicted.ready; }),
                of_bucket("predicted_start_s", [](const B& one) { return one.predicted.start; }),
                of_bucket("predicted_end_s", [](const B& one) { return one.predicted.end; }),
                of_bucket("measured_launch_s", [](const B& one) { return one.measured.launch; }),
                of_bucket("measured_start_s", [](const B& one) { return one.measured.start; }),
                of_bucket("measured_end_s", [](const B& one) { return one.measured.end; }),
                of_bucket("end_relative_error", &B::end_error)});
}

}  // namespace ddpsim::validate
