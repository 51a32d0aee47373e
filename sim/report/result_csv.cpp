#include "sim/report/result_csv.hpp"

#include <algorithm>
#include <functional>

#include <fmt/core.h>

#include "sim/report/csv_parts.hpp"

namespace ddpsim {
namespace {

using csv::Record;

const Record kMetricColumns{
    "world_size",         "strategy",       "bucket_cap_bytes", "n_buckets",       "forward_s",
    "backward_compute_s", "interference_s", "overhead_s",       "communication_s", "exposed_communication_s",
    "optimizer_s",        "iteration_s",    "algorithm",        "fidelity",        "network",
    "simulated_flows",    "algbw_Bps",      "busbw_Bps",        "samples_per_s",   "scaling_efficiency",
    "comm_frac",          "reported_rank",  "group_size"};

Record metric_fields(const IterationMetrics& m) {
  return {fmt::format("{}", m.world_size),
          std::string(m.strategy->name()),
          m.bucket_cap ? csv::bytes(*m.bucket_cap) : "",
          fmt::format("{}", m.n_buckets),
          csv::seconds(m.forward),
          csv::seconds(m.backward_compute),
          csv::seconds(m.interference),
          csv::seconds(m.overhead),
          csv::seconds(m.communication),
          csv::seconds(m.exposed_communication),
          csv::seconds(m.optimizer),
          csv::seconds(m.iteration),
          m.algorithm,
          m.fidelity,
          m.network,
          fmt::format("{}", m.simulated_flows),
          fmt::format("{}", m.algbw.value()),
          fmt::format("{}", m.busbw.value()),
          csv::number(m.samples_per_s),
          csv::number(m.scaling_efficiency),
          fmt::format("{}", m.communication_cost() / m.iteration),
          fmt::format("{}", m.reported_rank),
          fmt::format("{}", m.group_size)};
}

// Columns of what not every sweep has; a point without it has empty fields in them.
struct ColumnGroup {
  bool is_there;
  Record columns;
  std::function<Record(const SweepPoint&)> fields;
};

Record measured_fields(const SweepPoint& point) {
  if (!point.measured) return {"", "", ""};
  return {csv::seconds(point.measured->iteration),
          point.measured->spread ? csv::seconds(*point.measured->spread) : "",
          fmt::format("{}", relative_error(point.metrics, *point.measured))};
}

Record range_fields(const SweepPoint& point) {
  const auto& range = point.metrics.range;
  if (!range) return {"", ""};
  return {csv::seconds(range->least), csv::seconds(range->most)};
}

Record model_fields(const SweepPoint& point) {
  const auto& m = point.metrics;
  if (!m.memory) return Record(4);
  return {csv::number(m.tokens_per_s), fmt::format("{}", m.compute->mfu()),
          csv::bytes(m.memory->parts.peak()), m.memory->fits() ? "1" : "0"};
}

Record spread_fields(const SweepPoint& point) {
  if (!point.metrics.spread) return Record(6);
  const auto& spread = *point.metrics.spread;
  Record fields{fmt::format("{}", spread.iterations)};
  for (auto time : {spread.p5, spread.median, spread.p95, spread.mean, spread.unvaried})
    fields.push_back(csv::seconds(time));
  return fields;
}

std::vector<ColumnGroup> column_groups(const SweepResult& result) {
  auto any = [&](auto has) { return std::ranges::any_of(result.points, has); };
  std::vector<ColumnGroup> groups{
      {any([](const SweepPoint& point) { return point.measured.has_value(); }),
       {"measured_iteration_s", "measured_iteration_std_s", "relative_error"},
       measured_fields},
      {any([](const SweepPoint& point) { return point.metrics.range.has_value(); }),
       {"iteration_least_s", "iteration_most_s"},
       range_fields},
      {result.varies(), {"iterations", "p5_s", "median_s", "p95_s", "mean_s", "unvaried_s"}, spread_fields},
      {any([](const SweepPoint& point) { return point.metrics.memory.has_value(); }),
       {"tokens_per_s", "mfu", "memory_peak_bytes", "memory_fits"},
       model_fields},
      {!result.trace_note().empty(),
       {"trace_synthetic"},
       [](const SweepPoint& point) -> Record { return {point.metrics.trace_synthetic.value_or("")}; }},
      {!result.failed.empty(), {"error"}, [](const SweepPoint&) { return Record(1); }}};
  std::erase_if(groups, [](const ColumnGroup& group) { return !group.is_there; });
  return groups;
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
  auto groups = column_groups(result);
  Record header = csv::other_axes(result.axes, result.axes);
  csv::append(header, kMetricColumns);
  header.push_back("best");
  for (const auto& group : groups) csv::append(header, group.columns);
  std::string text = csv::line_of(header);
  auto failed = result.failed.begin();
  auto add_failed_before = [&](std::size_t point) {
    for (; failed != result.failed.end() && failed->before <= point; ++failed)
      text += csv::line_of(failed_record(result.axes, *failed, header));
  };

  auto best = result.best_by_group();
  for (std::size_t i = 0; i < result.points.size(); ++i) {
    add_failed_before(i);
    const auto& point = result.points[i];
    Record record = csv::other_axes(result.axes, point.axis_values);
    csv::append(record, metric_fields(point.metrics));
    record.push_back(std::find(best.begin(), best.end(), i) != best.end() ? "1" : "0");
    for (const auto& group : groups) csv::append(record, group.fields(point));
    text += csv::line_of(record);
  }
  add_failed_before(result.points.size());
  return text;
}

namespace {

std::string operations_csv(const IterationMetrics& metrics) {
  std::string text = "axis,operation,count,bytes,busy_s,exposed_s\n";
  for (const auto& one : metrics.operations)
    text += csv::line_of({one.axis, std::string(operation_name(one.operation)), fmt::format("{}", one.count),
                          csv::bytes(one.bytes), csv::seconds(one.busy), csv::seconds(one.exposed)});
  return text;
}

}  // namespace

std::string buckets_csv(const IterationMetrics& metrics) {
  if (metrics.shared_model) return operations_csv(metrics);
  bool chosen = !metrics.buckets.empty() && metrics.buckets.front().choice;
  std::string text = "index,bytes,n_gradients,ready_s,start_s,end_s";
  if (chosen) text += ",algorithm,protocol,channels,times";
  text += metrics.trace_synthetic ? ",trace_synthetic\n" : "\n";
  for (const auto& b : metrics.buckets) {
    Record record{fmt::format("{}", b.index), csv::bytes(b.bytes),   fmt::format("{}", b.n_gradients),
                  csv::seconds(b.ready),      csv::seconds(b.start), csv::seconds(b.end)};
    if (const auto& choice = b.choice) {
      record.emplace_back(choice->algorithm);
      record.emplace_back(choice->protocol);
      record.push_back(fmt::format("{}", choice->channels));
      record.emplace_back(choice->times);
    }
    if (metrics.trace_synthetic) record.push_back(*metrics.trace_synthetic);
    text += csv::line_of(record);
  }
  return text;
}

}  // namespace ddpsim
