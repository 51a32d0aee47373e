#include "sim/calibrate/calibration_json.hpp"

#include <cstdint>

#include <nlohmann/json.hpp>

namespace ddpsim::calibrate {
namespace {

using Json = nlohmann::ordered_json;

Json curve_json(const nccl::Calibration::Entry& entry) {
  return {{"algorithm", nccl::name(entry.algorithm)},
          {"across_nodes", entry.across_nodes},
          {"latency_scale", entry.curve.latency_scale},
          {"efficiency", entry.curve.efficiency},
          {"ramp_s", entry.curve.ramp.value()}};
}

Json point_json(const JudgedPoint& point) {
  Json json{{"bytes", static_cast<std::int64_t>(point.bytes.value())},
            {"measured_s", point.measured.value()},
            {"predicted_s", point.predicted.value()}};
  if (!point.doubt.empty()) json["doubt"] = point.doubt;
  return json;
}

Json table_json(const JudgedTable& table) {
  Json json{{"table", table.title},
            {"ranks", table.ranks},
            {"nodes", table.nodes},
            {"algorithm", nccl::name(table.algorithm)},
            {"fitted", table.fitted},
            {"mean_error", table.judgement.mean},
            {"worst_error", table.judgement.worst}};
  auto& points = json["points"] = Json::array();
  for (const auto& point : table.judgement.points) points.push_back(point_json(point));
  return json;
}

}  // namespace

std::string calibration_json(const nccl::Calibration& calibration, const std::vector<JudgedTable>& tables) {
  Json json;
  auto& curves = json["curves"] = Json::array();
  for (const auto& entry : calibration.entries) curves.push_back(curve_json(entry));
  auto& all = json["tables"] = Json::array();
  for (const auto& table : tables) all.push_back(table_json(table));
  // File names need not be UTF-8; what is not becomes a replacement character.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace ddpsim::calibrate
