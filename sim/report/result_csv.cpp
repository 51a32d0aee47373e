#include "sim/report/result_csv.hpp"

#include <algorithm>
#include <array>
#include <cstdint>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/csv.hpp"

namespace ddpsim {
namespace {

using Record = std::vector<std::string>;

std::string line_of(const Record& fields) {
  Record quoted;
  for (const auto& field : fields) quoted.push_back(csv_field(field));
  return fmt::format("{}\n", fmt::join(quoted, ","));
}

std::string csv_bytes(Bytes bytes) {
  return fmt::format("{}", static_cast<std::int64_t>(bytes.value()));
}
std::string csv_seconds(Seconds time) {
  return fmt::format("{}", time.value());
}
std::string csv_number(const std::optional<double>& value) {
  return value ? fmt::format("{}", *value) : "";
}

const Record kMetricColumns{"world_size",       "strategy",
                            "bucket_cap_bytes", "n_buckets",
                            "forward_s",        "backward_compute_s",
                            "interference_s",   "overhead_s",
                            "communication_s",  "exposed_communication_s",
                            "optimizer_s",      "iteration_s",
                            "algorithm",        "fidelity",
                            "algbw_Bps",        "busbw_Bps",
                            "samples_per_s",    "scaling_efficiency",
                            "reported_rank",    "group_size"};

Record metric_fields(const IterationMetrics& m) {
  return {fmt::format("{}", m.world_size),
          std::string(strategy_name(m.strategy)),
          m.bucket_cap ? csv_bytes(*m.bucket_cap) : "",
          fmt::format("{}", m.n_buckets),
          csv_seconds(m.forward),
          csv_seconds(m.backward_compute),
          csv_seconds(m.interference),
          csv_seconds(m.overhead),
          csv_seconds(m.communication),
          csv_seconds(m.exposed_communication),
          csv_seconds(m.optimizer),
          csv_seconds(m.iteration),
          m.algorithm,
          m.fidelity,
          fmt::format("{}", m.algbw.value()),
          fmt::format("{}", m.busbw.value()),
          csv_number(m.samples_per_s),
          csv_number(m.scaling_efficiency),
          fmt::format("{}", m.reported_rank),
          fmt::format("{}", m.group_size)};
}

Record measured_fields(const SweepPoint& point) {
  if (!point.measured) return {"", "", ""};
  return {csv_seconds(point.measured->iteration),
          point.measured->spread ? csv_seconds(*point.measured->spread) : "",
          fmt::format("{}", relative_error(point.metrics, *point.measured))};
}

// Axes whose values a result key says already.
bool is_result_key(std::string_view axis) {
  constexpr std::array<std::string_view, 3> known{kBucketCapAxis, "cluster.world_size", "strategy"};
  return std::find(known.begin(), known.end(), axis) != known.end();
}

void append(Record& record, const Record& more) {
  record.insert(record.end(), more.begin(), more.end());
}

}  // namespace

std::string sweep_csv(const SweepResult& result) {
  bool measured = std::any_of(result.points.begin(), result.points.end(),
                              [](const SweepPoint& point) { return point.measured.has_value(); });
  Record header;
  for (const auto& axis : result.axes)
    if (!is_result_key(axis)) header.push_back(axis);
  append(header, kMetricColumns);
  header.push_back("best");
  if (measured) append(header, {"measured_iteration_s", "measured_iteration_std_s", "relative_error"});
  std::string text = line_of(header);

  auto best = result.best_by_group();
  for (std::size_t i = 0; i < result.points.size(); ++i) {
    const auto& point = result.points[i];
    Record record;
    for (std::size_t axis = 0; axis < result.axes.size(); ++axis)
      if (!is_result_key(result.axes[axis])) record.push_back(point.axis_values.at(axis));
    append(record, metric_fields(point.metrics));
    record.push_back(std::find(best.begin(), best.end(), i) != best.end() ? "1" : "0");
    if (measured) append(record, measured_fields(point));
    text += line_of(record);
  }
  return text;
}

std::string buckets_csv(const IterationMetrics& metrics) {
  bool chosen = !metrics.buckets.empty() && metrics.buckets.front().choice;
  std::string text = "index,bytes,n_gradients,ready_s,start_s,end_s";
  text += chosen ? ",algorithm,protocol,channels,times\n" : "\n";
  for (const auto& b : metrics.buckets) {
    Record record{fmt::format("{}", b.index), csv_bytes(b.bytes),   fmt::format("{}", b.n_gradients),
                  csv_seconds(b.ready),       csv_seconds(b.start), csv_seconds(b.end)};
    if (b.choice)
      for (const auto& field :
           {b.choice->algorithm, b.choice->protocol, fmt::format("{}", b.choice->channels), b.choice->times})
        record.push_back(field);
    text += line_of(record);
  }
  return text;
}

}  // namespace ddpsim
