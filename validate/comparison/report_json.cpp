#include "validate/comparison/report_json.hpp"

#include <nlohmann/json.hpp>

#include "sim/report/json_parts.hpp"

namespace ddpsim::validate {
namespace {

using json::Json;

std::optional<double> value_of(const std::optional<Seconds>& time) {
  return time ? std::optional(time->value()) : std::nullopt;
}

Json measured_json(const ComparedPoint& point) {
  Json measured;
  measured["iteration_s"] = point.measured.value();
  measured["std_s"] = json::number_or_null(value_of(point.spread));
  auto& samples = measured["samples_s"] = Json::array();
  for (auto sample : point.samples) samples.push_back(sample.value());
  measured["settled"] = point.samples.empty() ? Json(nullptr) : Json(point.settled);
  return measured;
}

Json bucket_json(const ComparedBucket& bucket) {
  Json fields;
  fields["index"] = bucket.predicted.index;
  fields["bytes"] = json::bytes(bucket.predicted.bytes);
  json::add_times(bucket.predicted, fields["predicted"]);
  auto& measured = fields["measured"];
  measured["launch_s"] = bucket.measured.launch.value();
  measured["start_s"] = bucket.measured.start.value();
  measured["end_s"] = bucket.measured.end.value();
  fields["end_relative_error"] = json::number_or_null(bucket.end_error());
  return fields;
}

Json point_json(const std::vector<std::string>& axes, const ComparedPoint& point) {
  Json fields;
  fields["axes"] = json::axes(axes, point.axis_values);
  json::add_metrics(point.predicted, fields["predicted"]);
  fields["measured"] = measured_json(point);
  fields["relative_error"] = point.error();
  fields["exposed_relative_error"] = json::number_or_null(point.exposed_error());
  auto& buckets = fields["buckets"] = Json::array();
  for (const auto& bucket : point.buckets) buckets.push_back(bucket_json(bucket));
  return fields;
}

Json choice_json(const Choice& choice) {
  Json fields;
  fields["group"] = choice.group;
  fields["n_points"] = choice.n_points;
  fields["predicted_best"] = choice.predicted_best;
  fields["measured_best"] = choice.measured_best;
  fields["regret"] = choice.regret;
  fields["pairs_in_order"] = json::number_or_null(choice.pairs_in_order);
  return fields;
}

}  // namespace

std::string validation_json(const ValidationReport& report, const ScenarioInfo& scenario,
                            const ToolInfo& tool) {
  Json result;
  result["scenario"] = json::scenario(scenario);
  result["measurement"] = report.measurement;
  result["prediction"] = report.prediction;
  auto& environment = result["environment"] = Json::object();
  for (const auto& [what, value] : report.environment) environment[what] = value;
  auto& points = result["points"] = Json::array();
  for (const auto& point : report.points) points.push_back(point_json(report.axes, point));
  auto& choices = result["choices"] = Json::array();
  for (const auto& choice : report.choices) choices.push_back(choice_json(choice));
  result["largest_error"] = report.largest_error();
  result["largest_regret"] = json::number_or_null(report.largest_regret());
  auto& thresholds = result["thresholds"];
  thresholds["iteration_error"] = json::number_or_null(report.thresholds.iteration_error);
  thresholds["regret"] = json::number_or_null(report.thresholds.regret);
  result["missed"] = report.missed();
  result["tool"] = json::tool(tool);
  return json::text_of(result);
}

}  // namespace ddpsim::validate
