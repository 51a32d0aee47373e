#include "validate/comparison/report_json.hpp"

#include "sim/result/iteration_columns.hpp"
#include "sim/result/json_parts.hpp"

namespace ddpsim::validate {
namespace {

Cell::Fields measured_fields(const ComparedPoint& point) {
  return {
      {"iteration_s", point.measured},     {"std_s", point.spread},
      {"least_s", point.measured_least()}, {"most_s", point.measured_most()},
      {"samples_s", point.samples},        {"settled", point.samples.empty() ? Cell() : Cell(point.settled)}};
}

const Columns<ComparedBucket> kComparedColumns{
    {"index", [](const auto& bucket) { return bucket.predicted.index; }},
    {"bytes", [](const auto& bucket) { return bucket.predicted.bytes; }},
    {"predicted", [](const auto& bucket) { return fields(kTimeColumns, bucket.predicted); }},
    {"measured",
     [](const auto& bucket) {
       const auto& times = bucket.measured;
       return Cell::Fields{{"launch_s", times.launch}, {"start_s", times.start}, {"end_s", times.end}};
     }},
    {"end_relative_error", &ComparedBucket::end_error}};

const Columns<Choice> kChoiceColumns{{"group", &Choice::group},
                                     {"n_points", [](const auto& choice) { return choice.points.size(); }},
                                     {"predicted_best", &Choice::predicted_best},
                                     {"measured_best", &Choice::measured_best},
                                     {"regret", &Choice::regret},
                                     {"pairs_in_order", &Choice::pairs_in_order}};

}  // namespace

std::string validation_json(const ValidationReport& report, const ScenarioInfo& scenario,
                            const ToolInfo& tool) {
  Cell::Fields environment;
  for (const auto& [what, value] : report.environment) environment.emplace_back(what, value);
  Cell::List points;
  for (const auto& point : report.points)
    points.emplace_back(Cell::Fields{{"axes", json::axes(report.axes, point.axis_values)},
                                     {"predicted", fields(kIterationColumns, point.predicted)},
                                     {"measured", measured_fields(point)},
                                     {"relative_error", point.error()},
                                     {"exposed_relative_error", point.exposed_error()},
                                     {"buckets", fields_of_each(kComparedColumns, point.buckets)}});
  return json::text_of({{"scenario", json::scenario(scenario)},
                        {"measurement", report.measurement},
                        {"prediction", report.prediction},
                        {"environment", environment},
                        {"points", points},
                        {"choices", fields_of_each(kChoiceColumns, report.choices)},
                        {"largest_error", report.largest_error()},
                        {"largest_regret", report.largest_regret()},
                        {"thresholds", Cell::Fields{{"iteration_error", report.thresholds.iteration_error},
                                                    {"regret", report.thresholds.regret}}},
                        {"missed", report.missed()},
                        {"too_noisy", report.too_noisy()},
                        {"tool", json::tool(tool)}});
}

}  // namespace ddpsim::validate
