#include "sim/report/result_json.hpp"

#include <cstdint>

#include <nlohmann/json.hpp>

namespace ddpsim {
namespace {

using Json = nlohmann::ordered_json;

Json bytes_json(Bytes bytes) {
  return static_cast<std::int64_t>(bytes.value());
}

Json number_or_null(const std::optional<double>& value) {
  return value ? Json(*value) : Json(nullptr);
}

void add_metrics(const IterationMetrics& m, Json& point) {
  point["world_size"] = m.world_size;
  point["strategy"] = strategy_name(m.strategy);
  point["bucket_cap_bytes"] = m.bucket_cap ? bytes_json(*m.bucket_cap) : Json(nullptr);
  point["n_buckets"] = m.n_buckets;
  point["forward_s"] = m.forward.value();
  point["backward_compute_s"] = m.backward_compute.value();
  point["interference_s"] = m.interference.value();
  point["overhead_s"] = m.overhead.value();
  point["communication_s"] = m.communication.value();
  point["exposed_communication_s"] = m.exposed_communication.value();
  point["optimizer_s"] = m.optimizer.value();
  point["iteration_s"] = m.iteration.value();
  point["algorithm"] = m.algorithm;
  point["fidelity"] = m.fidelity;
  point["algbw_Bps"] = m.algbw.value();
  point["busbw_Bps"] = m.busbw.value();
  point["samples_per_s"] = number_or_null(m.samples_per_s);
  point["scaling_efficiency"] = number_or_null(m.scaling_efficiency);
  point["reported_rank"] = m.reported_rank;
  point["group_size"] = m.group_size;
  if (auto sources = m.sources_of_times(); !sources.empty()) point["all_reduce_times"] = sources;
}

void add_times(const BucketMetrics& b, Json& collective) {
  collective["ready_s"] = b.ready.value();
  collective["start_s"] = b.start.value();
  collective["end_s"] = b.end.value();
  if (!b.choice) return;
  collective["algorithm"] = b.choice->algorithm;
  collective["protocol"] = b.choice->protocol;
  collective["channels"] = b.choice->channels;
  collective["times"] = b.choice->times;
}

Json bucket_json(const BucketMetrics& b) {
  Json bucket;
  bucket["index"] = b.index;
  bucket["bytes"] = bytes_json(b.bytes);
  bucket["n_gradients"] = b.n_gradients;
  add_times(b, bucket);
  return bucket;
}

Json bitmap_json(const BucketMetrics& b) {
  Json bitmap;
  bitmap["bytes"] = bytes_json(b.bytes);
  add_times(b, bitmap);
  return bitmap;
}

void add_totals(const CommunicationTotals& totals, Json& json) {
  json["last_ready_s"] = totals.last_ready.value();
  json["last_end_s"] = totals.last_end.value();
  json["exposed_communication_s"] = totals.exposed().value();
  json["communication_s"] = totals.in_flight.value();
}

Json recorded_json(const RecordedComparison& comparison) {
  Json json;
  json["world_size"] = comparison.world_size;
  json["steps"] = comparison.steps;
  auto& collectives = json["collectives"] = Json::array();
  for (const auto& one : comparison.collectives) {
    Json collective;
    collective["bytes"] = bytes_json(one.recorded.bytes());
    collective["ready_s"] = one.recorded.ready.value();
    collective["start_s"] = one.recorded.start.value();
    collective["end_s"] = one.recorded.end.value();
    collective["duration_s"] = one.recorded.duration.value();
    collective["start_difference_s"] = one.start_difference().value();
    collective["end_difference_s"] = one.end_difference().value();
    collective["end_relative_difference"] = number_or_null(one.end_relative_difference());
    collectives.push_back(std::move(collective));
  }
  add_totals(comparison.recorded, json);
  add_totals(comparison.simulated, json["simulated"]);
  return json;
}

Json point_json(const std::vector<std::string>& axes, const SweepPoint& point) {
  Json json;
  auto& values = json["axes"] = Json::object();
  for (std::size_t i = 0; i < axes.size(); ++i) values[axes[i]] = point.axis_values.at(i);
  add_metrics(point.metrics, json);
  if (const auto& measured = point.measured) {
    json["measured_iteration_s"] = measured->iteration.value();
    if (measured->spread) json["measured_iteration_std_s"] = measured->spread->value();
    json["relative_error"] = relative_error(point.metrics, *measured);
  }
  return json;
}

Json scenario_json(const ScenarioInfo& scenario) {
  Json json;
  json["file"] = scenario.file;
  json["set"] = scenario.set;
  auto& axes = json["axes"] = Json::object();
  for (const auto& axis : scenario.axes) axes[axis.key] = axis.values;
  return json;
}

Json tool_json(const ToolInfo& tool) {
  Json json;
  json["version"] = tool.version;
  json["simgrid"] = tool.simgrid;
  return json;
}

// File names need not be UTF-8; what is not becomes a replacement character.
std::string text_of(const Json& json) {
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string simulate_json(const IterationMetrics& metrics, const ToolInfo& tool,
                          const std::optional<RecordedComparison>& recorded) {
  Json json;
  add_metrics(metrics, json);
  auto& buckets = json["buckets"] = Json::array();
  for (const auto& bucket : metrics.buckets) buckets.push_back(bucket_json(bucket));
  if (metrics.used_parameter_bitmap)
    json["used_parameter_bitmap"] = bitmap_json(*metrics.used_parameter_bitmap);
  if (recorded) json["recorded"] = recorded_json(*recorded);
  json["tool"] = tool_json(tool);
  return text_of(json);
}

std::string sweep_json(const SweepResult& result, const ScenarioInfo& scenario, const ToolInfo& tool) {
  Json json;
  json["scenario"] = scenario_json(scenario);
  auto& points = json["points"] = Json::array();
  for (const auto& point : result.points) points.push_back(point_json(result.axes, point));
  json["best"] = point_json(result.axes, result.points[result.best()]);
  auto& by_group = json["best_by_group"] = Json::array();
  for (auto best : result.best_by_group()) by_group.push_back(point_json(result.axes, result.points[best]));
  json["tool"] = tool_json(tool);
  return text_of(json);
}

}  // namespace ddpsim
