#include "sim/report/result_json.hpp"

#include <algorithm>

#include "sim/report/cap_advice.hpp"
#include "sim/report/verdict.hpp"
#include "sim/result/iteration_columns.hpp"
#include "sim/result/json_parts.hpp"

namespace ddpsim {
namespace {

Cell::Fields totals(const CommunicationTotals& totals) {
  return {{"last_ready_s", totals.last_ready},
          {"last_end_s", totals.last_end},
          {"exposed_communication_s", totals.exposed()},
          {"communication_s", totals.in_flight}};
}

const Columns<ComparedCollective> kComparedColumns{
    {"bytes", [](const auto& one) { return one.recorded.bytes(); }},
    {"ready_s", [](const auto& one) { return one.recorded.ready; }},
    {"start_s", [](const auto& one) { return one.recorded.start; }},
    {"end_s", [](const auto& one) { return one.recorded.end; }},
    {"duration_s", [](const auto& one) { return one.recorded.duration; }},
    {"start_difference_s", &ComparedCollective::start_difference},
    {"end_difference_s", &ComparedCollective::end_difference},
    {"end_relative_difference", &ComparedCollective::end_relative_difference}};

Cell::Fields recorded_fields(const RecordedComparison& comparison) {
  Cell::Fields recorded{{"world_size", comparison.world_size},
                        {"steps", comparison.steps},
                        {"collectives", fields_of_each(kComparedColumns, comparison.collectives)}};
  json::append(recorded, totals(comparison.recorded));
  recorded.emplace_back("simulated", totals(comparison.simulated));
  return recorded;
}

Cell::Fields best_caps_fields(const BestCaps& best) {
  auto choice = [](const BestCaps::Choice& one) {
    Cell::Fields of_choice{
        {"bucket_caps_bytes", one.caps}, {"n_buckets", one.buckets}, {"iteration_s", one.iteration}};
    if (one.odds) json::append(of_choice, fields(kOddsColumns, *one.odds));
    return of_choice;
  };
  Cell::Fields all{{"single", choice(best.single)}, {"list", choice(best.list)}};
  if (best.usual.odds) all.emplace_back("default", choice(best.usual));
  all.emplace_back("search_leaves_out", best.left_out);
  return all;
}

Cell::Fields advice_fields(const SweepResult& result, const CapAdvice& advice) {
  using Edge = CapAdvice::Edge;
  Cell::Fields all{{"axes", json::axes(result.axes, result.points[advice.best].axis_values)},
                   {"bucket_cap_bytes", advice.cap},
                   {"bucket_cap_mb", advice.cap.value() / (1 << 20)},
                   {"iteration_s", advice.iteration},
                   {"as_good_within", kPlateau},
                   {"as_good_from_bytes", advice.least},
                   {"as_good_to_bytes", advice.most},
                   {"edge", advice.edge == Edge::none       ? Cell()
                            : advice.edge == Edge::smallest ? "smallest"
                                                            : "largest"}};
  if (const auto& usual = advice.with_default) {
    Cell::Fields of_default{{"bucket_cap_bytes", usual->cap}};
    if (usual->first) of_default.emplace_back("first_bucket_cap_bytes", usual->first);
    json::append(of_default, {{"iteration_s", usual->iteration}, {"as_good", advice.default_is_as_good()}});
    if (usual->odds) json::append(of_default, fields(kOddsColumns, *usual->odds));
    all.emplace_back("default", of_default);
  }
  return all;
}

Cell::Fields point_fields(const SweepResult& result, std::size_t i) {
  const auto& point = result.points[i];
  Cell::Fields all{{"axes", json::axes(result.axes, point.axis_values)}};
  json::append(all, fields(kPointColumns, point));
  return all;
}

Cell::Fields formula_fields(const SweepResult& result, const SweepPoint& point, const CapFormula& formula) {
  auto axes = json::axes(result.axes, point.axis_values);
  std::erase_if(axes, [](const auto& axis) { return axis.first == kBucketCapAxis; });
  return {{"axes", axes},
          {"latency_s", formula.latency},
          {"bandwidth_Bps", formula.bandwidth},
          {"backward_s", formula.backward},
          {"gradients_bytes", formula.gradients.value()},
          {"rest_s", formula.rest},
          {"best_bytes", formula.best().value()},
          {"iteration_s", formula.iteration(formula.best())}};
}

Cell::Fields failed_fields(const SweepResult& result, const FailedPoint& point) {
  return {{"failed", failure_name(point.who)},
          {"axes", json::axes(result.axes, point.axis_values)},
          {"error", point.error}};
}

}  // namespace

std::string simulate_json(const IterationMetrics& metrics, const ToolInfo& tool,
                          const std::optional<RecordedComparison>& recorded, const std::vector<Note>& notes,
                          const std::optional<BestCaps>& best,
                          const std::optional<Cell::Fields>& explanation) {
  auto result = fields(kIterationColumns, metrics);
  result.emplace_back("buckets", fields_of_each(kBucketColumns, metrics.buckets));
  if (const auto& bitmap = metrics.used_parameter_bitmap) {
    Cell::Fields all{{"bytes", bitmap->bytes}};
    json::append(all, fields(kTimeColumns, *bitmap));
    result.emplace_back("used_parameter_bitmap", all);
  }
  if (recorded) result.emplace_back("recorded", recorded_fields(*recorded));
  if (best) result.emplace_back("best_caps", best_caps_fields(*best));
  if (explanation) result.emplace_back("explanation", *explanation);
  json::append(result, {{"notes", json::notes(notes)}, {"tool", json::tool(tool)}});
  return json::text_of(result);
}

std::string sweep_json(const SweepResult& result, const ScenarioInfo& scenario, const ToolInfo& tool) {
  Cell::List points, by_group, caps, formulas, failed;
  for (std::size_t i = 0; i < result.points.size(); ++i) points.emplace_back(point_fields(result, i));
  for (auto best : result.best_by_group()) by_group.emplace_back(point_fields(result, best));
  Cell::Fields sweep{{"scenario", json::scenario(scenario)},
                     {"points", std::move(points)},
                     {"best", point_fields(result, result.best())},
                     {"best_by_group", std::move(by_group)}};
  for (const auto& advice : cap_advice(result)) caps.emplace_back(advice_fields(result, advice));
  if (result.find_axis(kBucketCapAxis)) sweep.emplace_back("bucket_caps", caps);
  for (const auto& [point, formula] : result.formulas)
    formulas.emplace_back(formula_fields(result, result.points[point], formula));
  if (!formulas.empty()) sweep.emplace_back("formulas", formulas);
  sweep.emplace_back("verdict", verdict_lines(result));
  for (const auto& point : result.failed) failed.emplace_back(failed_fields(result, point));
  if (!failed.empty()) sweep.emplace_back("failed_points", failed);
  json::append(sweep, {{"notes", json::notes(result.notes)}, {"tool", json::tool(tool)}});
  return json::text_of(sweep);
}

}  // namespace ddpsim
