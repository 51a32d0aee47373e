#include "sim/report/result_json.hpp"

#include <nlohmann/json.hpp>

#include "sim/report/cap_advice.hpp"
#include "sim/report/json_parts.hpp"

namespace ddpsim {
namespace {

using json::Json;

Json bucket_json(const BucketMetrics& b) {
  Json bucket;
  bucket["index"] = b.index;
  bucket["bytes"] = json::bytes(b.bytes);
  if (b.wire != b.bytes) bucket["wire_bytes"] = json::bytes(b.wire);
  bucket["n_gradients"] = b.n_gradients;
  json::add_times(b, bucket);
  return bucket;
}

Json bitmap_json(const BucketMetrics& b) {
  Json bitmap;
  bitmap["bytes"] = json::bytes(b.bytes);
  json::add_times(b, bitmap);
  return bitmap;
}

void add_totals(const CommunicationTotals& totals, Json& recorded) {
  recorded["last_ready_s"] = totals.last_ready.value();
  recorded["last_end_s"] = totals.last_end.value();
  recorded["exposed_communication_s"] = totals.exposed().value();
  recorded["communication_s"] = totals.in_flight.value();
}

Json recorded_json(const RecordedComparison& comparison) {
  Json recorded;
  recorded["world_size"] = comparison.world_size;
  recorded["steps"] = comparison.steps;
  auto& collectives = recorded["collectives"] = Json::array();
  for (const auto& one : comparison.collectives) {
    Json collective;
    collective["bytes"] = json::bytes(one.recorded.bytes());
    collective["ready_s"] = one.recorded.ready.value();
    collective["start_s"] = one.recorded.start.value();
    collective["end_s"] = one.recorded.end.value();
    collective["duration_s"] = one.recorded.duration.value();
    collective["start_difference_s"] = one.start_difference().value();
    collective["end_difference_s"] = one.end_difference().value();
    collective["end_relative_difference"] = json::number_or_null(one.end_relative_difference());
    collectives.push_back(std::move(collective));
  }
  add_totals(comparison.recorded, recorded);
  add_totals(comparison.simulated, recorded["simulated"]);
  return recorded;
}

Json best_caps_json(const BestCaps& best) {
  Json both;
  for (auto [key, choice] : {std::pair("single", &best.single), std::pair("list", &best.list)}) {
    auto& one = both[key];
    one["bucket_caps_bytes"] = Json::array();
    for (auto cap : choice->caps) one["bucket_caps_bytes"].push_back(json::bytes(cap));
    one["n_buckets"] = choice->buckets;
    one["iteration_s"] = choice->iteration.value();
  }
  both["search_leaves_out"] = best.left_out;
  return both;
}

Json advice_json(const SweepResult& result, const CapAdvice& advice) {
  Json json;
  json["axes"] = json::axes(result.axes, result.points[advice.best].axis_values);
  json["bucket_cap_bytes"] = json::bytes(advice.cap);
  json["bucket_cap_mb"] = advice.cap.value() / (1 << 20);
  json["iteration_s"] = advice.iteration.value();
  json["as_good_within"] = kPlateau;
  json["as_good_from_bytes"] = json::bytes(advice.least);
  json["as_good_to_bytes"] = advice.most ? json::bytes(*advice.most) : Json(nullptr);
  json["edge"] = advice.edge == CapAdvice::Edge::none       ? Json(nullptr)
                 : advice.edge == CapAdvice::Edge::smallest ? Json("smallest")
                                                            : Json("largest");
  if (const auto& usual = advice.with_default) {
    auto& json_of = json["default"];
    json_of["bucket_cap_bytes"] = json::bytes(usual->cap);
    if (usual->first) json_of["first_bucket_cap_bytes"] = json::bytes(*usual->first);
    json_of["iteration_s"] = usual->iteration.value();
    json_of["as_good"] = advice.default_is_as_good();
  }
  return json;
}

Json point_json(const std::vector<std::string>& axes, const SweepPoint& point) {
  Json fields;
  fields["axes"] = json::axes(axes, point.axis_values);
  json::add_metrics(point.metrics, fields);
  if (const auto& measured = point.measured) {
    fields["measured_iteration_s"] = measured->iteration.value();
    if (measured->spread) fields["measured_iteration_std_s"] = measured->spread->value();
    fields["relative_error"] = relative_error(point.metrics, *measured);
  }
  return fields;
}

}  // namespace

std::string simulate_json(const IterationMetrics& metrics, const ToolInfo& tool,
                          const std::optional<RecordedComparison>& recorded, const std::vector<Note>& notes,
                          const std::optional<BestCaps>& best) {
  Json result;
  json::add_metrics(metrics, result);
  auto& buckets = result["buckets"] = Json::array();
  for (const auto& bucket : metrics.buckets) buckets.push_back(bucket_json(bucket));
  if (metrics.used_parameter_bitmap)
    result["used_parameter_bitmap"] = bitmap_json(*metrics.used_parameter_bitmap);
  if (recorded) result["recorded"] = recorded_json(*recorded);
  if (best) result["best_caps"] = best_caps_json(*best);
  result["notes"] = json::notes(notes);
  result["tool"] = json::tool(tool);
  return json::text_of(result);
}

Json formula_json(const SweepResult& result, const SweepPoint& point, const CapFormula& formula) {
  Json one;
  auto axes = json::axes(result.axes, point.axis_values);
  axes.erase(std::string(kBucketCapAxis));
  one["axes"] = std::move(axes);
  one["latency_s"] = formula.latency.value();
  one["bandwidth_Bps"] = formula.bandwidth.value();
  one["backward_s"] = formula.backward.value();
  one["gradients_bytes"] = formula.gradients.value();
  one["rest_s"] = formula.rest.value();
  one["best_bytes"] = formula.best().value();
  one["iteration_s"] = formula.iteration(formula.best()).value();
  return one;
}

std::string sweep_json(const SweepResult& result, const ScenarioInfo& scenario, const ToolInfo& tool) {
  Json sweep;
  sweep["scenario"] = json::scenario(scenario);
  auto& points = sweep["points"] = Json::array();
  for (const auto& point : result.points) points.push_back(point_json(result.axes, point));
  sweep["best"] = point_json(result.axes, result.points[result.best()]);
  auto& by_group = sweep["best_by_group"] = Json::array();
  for (auto best : result.best_by_group()) by_group.push_back(point_json(result.axes, result.points[best]));
  if (result.find_axis(kBucketCapAxis)) {
    auto& caps = sweep["bucket_caps"] = Json::array();
    for (const auto& advice : cap_advice(result)) caps.push_back(advice_json(result, advice));
  }
  for (const auto& [point, formula] : result.formulas)
    sweep["formulas"].push_back(formula_json(result, result.points[point], formula));
  for (const auto& point : result.failed) {
    Json failed;
    failed["failed"] = failure_name(point.who);
    failed["axes"] = json::axes(result.axes, point.axis_values);
    failed["error"] = point.error;
    sweep["failed_points"].push_back(std::move(failed));
  }
  sweep["notes"] = json::notes(result.notes);
  sweep["tool"] = json::tool(tool);
  return json::text_of(sweep);
}

}  // namespace ddpsim
