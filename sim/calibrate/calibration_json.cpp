#include "sim/calibrate/calibration_json.hpp"

#include <cstdint>

#include <nlohmann/json.hpp>

namespace ddpsim::calibrate {
namespace {

using Json = nlohmann::ordered_json;

Json curve_json(const nccl::Calibration::Entry& entry) {
  Json json{{"algorithm", nccl::name(entry.algorithm)},
            {"across_nodes", entry.across_nodes},
            {"latency_scale", entry.curve.latency_scale},
            {"efficiency", entry.curve.efficiency},
            {"ramp_s", entry.curve.ramp.value()}};
  if (entry.nodes > 0) json["nodes"] = entry.nodes;
  return json;
}

template <class Lines, class Parameters>
Json parameters_json(const Lines& lines, const Parameters& parameters) {
  Json json = Json::object();
  for (const auto& parameter : parameters) json[std::string(parameter.name)] = lines.*parameter.value;
  return json;
}

Json lines_json(const nccl::Calibration::NodeEntry& entry) {
  return {
      {"operation", operation_name(entry.operation)},
      {"parameters", sends_directly(entry.operation) ? parameters_json(entry.peers, nccl::kPeerParameters)
                                                     : parameters_json(entry.ring, nccl::kRingParameters)},
      {"identified", nccl::identified_names(entry)}};
}

Json bands_json(const Judgement& judgement) {
  Json bands = Json::array();
  for (const auto& band : kBands) {
    auto error = judgement.between(band.from, band.below);
    if (!error) continue;
    Json json = Json::object();
    if (band.below) json["below"] = static_cast<std::int64_t>(band.below->value());
    json["mean_error"] = error->mean;
    bands.push_back(std::move(json));
  }
  return bands;
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
            {"operation", operation_name(table.operation)},
            {"ranks", table.ranks},
            {"nodes", table.nodes},
            {"algorithm", table.algorithm},
            {"fitted", table.fitted},
            {"mean_error", table.judgement.large.mean},
            {"worst_error", table.judgement.large.worst},
            {"bands", bands_json(table.judgement)}};
  auto& points = json["points"] = Json::array();
  for (const auto& point : table.judgement.points) points.push_back(point_json(point));
  return json;
}

}  // namespace

std::string calibration_json(const nccl::Calibration& calibration, const std::vector<JudgedTable>& tables) {
  Json json;
  auto& curves = json["curves"] = Json::array();
  for (const auto& entry : calibration.entries) curves.push_back(curve_json(entry));
  auto& lines = json["lines"] = Json::array();
  for (const auto& entry : calibration.node) lines.push_back(lines_json(entry));
  auto& all = json["tables"] = Json::array();
  for (const auto& table : tables) all.push_back(table_json(table));
  // File names need not be UTF-8; what is not becomes a replacement character.
  return json.dump(2, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace ddpsim::calibrate
