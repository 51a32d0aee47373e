#include "validate/comparison/report_csv.hpp"

#include <fmt/core.h>

#include "sim/report/csv_parts.hpp"

namespace ddpsim::validate {
namespace {

using csv::Record;

// `more` are the columns behind those that tell a point from others.
std::string header_line(const ValidationReport& report, const Record& more) {
  auto header = csv::other_axes(report.axes, report.axes);
  csv::append(header, {"world_size", "strategy", "bucket_cap_bytes", "n_buckets"});
  csv::append(header, more);
  return csv::line_of(header);
}

Record identity(const ValidationReport& report, const ComparedPoint& point) {
  const auto& m = point.predicted;
  auto record = csv::other_axes(report.axes, point.axis_values);
  csv::append(record, {fmt::format("{}", m.world_size), std::string(m.strategy->name()),
                       m.bucket_cap ? csv::bytes(*m.bucket_cap) : "", fmt::format("{}", m.n_buckets)});
  return record;
}

Record fields_of(const ComparedPoint& point) {
  return {csv::seconds(point.predicted.iteration),
          csv::seconds(point.measured),
          point.spread ? csv::seconds(*point.spread) : "",
          point.samples.empty() ? "" : fmt::format("{}", point.samples.size()),
          csv::number(point.error()),
          csv::number(point.exposed_error())};
}

Record fields_of(const ComparedBucket& bucket) {
  const auto& [predicted, measured] = bucket;
  return {fmt::format("{}", predicted.index), csv::bytes(predicted.bytes), csv::seconds(predicted.ready),
          csv::seconds(predicted.start),      csv::seconds(predicted.end), csv::seconds(measured.launch),
          csv::seconds(measured.start),       csv::seconds(measured.end),  csv::number(bucket.end_error())};
}

}  // namespace

std::string validation_csv(const ValidationReport& report) {
  Record columns{"predicted_iteration_s", "measured_iteration_s",  "measured_std_s", "n_samples",
                 "relative_error",        "exposed_relative_error"};
  bool synthetic = !report.trace_note().empty();
  if (synthetic) columns.emplace_back("trace_synthetic");
  auto text = header_line(report, columns);
  for (const auto& point : report.points) {
    auto record = identity(report, point);
    csv::append(record, fields_of(point));
    if (synthetic) record.push_back(point.predicted.trace_synthetic.value_or(""));
    text += csv::line_of(record);
  }
  return text;
}

std::string buckets_csv(const ValidationReport& report) {
  auto text =
      header_line(report, {"index", "bytes", "predicted_ready_s", "predicted_start_s", "predicted_end_s",
                           "measured_launch_s", "measured_start_s", "measured_end_s", "end_relative_error"});
  for (const auto& point : report.points)
    for (const auto& bucket : point.buckets) {
      auto record = identity(report, point);
      csv::append(record, fields_of(bucket));
      text += csv::line_of(record);
    }
  return text;
}

}  // namespace ddpsim::validate
