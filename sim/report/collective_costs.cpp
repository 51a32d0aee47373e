#include "sim/report/collective_costs.hpp"

#include <algorithm>

#include <fmt/core.h>
#include <nlohmann/json.hpp>

#include "sim/base/quantity.hpp"
#include "sim/report/csv_parts.hpp"
#include "sim/report/json_parts.hpp"

namespace ddpsim {

std::string collective_costs_table(const std::vector<CollectiveCostRow>& rows) {
  bool has_notes = std::any_of(rows.begin(), rows.end(), [](const auto& row) { return !row.note.empty(); });
  auto algorithm_of = [](const CollectiveCostRow& row) {
    return row.protocol.empty() ? row.algorithm : row.algorithm + "/" + row.protocol;
  };
  std::size_t width = 18;
  for (const auto& row : rows) width = std::max(width, algorithm_of(row).size());
  auto text =
      fmt::format("{:<16}{:>10}  {:<{}}{:>8}  {:>12}  {:>12}  {:>12}{}\n", "collective", "bytes", "algorithm",
                  width, "channels", "time", "algbw", "busbw", has_notes ? "  the time is" : "");
  for (const auto& row : rows) {
    text +=
        fmt::format("{:<16}{:>10}  {:<{}}", row.operation, format_bytes(row.bytes), algorithm_of(row), width);
    if (row.time)
      text += fmt::format("{:>8}  {:>12}  {:>12}  {:>12}{}{}\n", row.channels, format_seconds(*row.time),
                          format_bandwidth(row.algbw()), format_bandwidth(row.busbw()),
                          row.note.empty() ? "" : "  ", row.note);
    else
      text += row.why_not + "\n";
  }
  return text;
}

std::string collective_costs_json(const CollectiveCostsOf& whose,
                                  const std::vector<CollectiveCostRow>& rows) {
  json::Json all;
  all["topology"] = whose.topology;
  all["world_size"] = whose.world_size;
  all["nccl_version"] = whose.nccl_version.empty() ? json::Json() : json::Json(whose.nccl_version);
  all["notes"] = json::notes(whose.notes);
  auto& costs = all["costs"] = json::Json::array();
  for (const auto& row : rows) {
    auto& cost = costs.emplace_back();
    cost["operation"] = row.operation;
    cost["bytes"] = json::bytes(row.bytes);
    cost["algorithm"] = row.algorithm;
    cost["protocol"] = row.protocol.empty() ? json::Json() : json::Json(row.protocol);
    if (!row.time) {
      cost["time_s"] = nullptr;
      cost["why_not"] = row.why_not;
      continue;
    }
    cost["channels"] = row.channels;
    cost["time_s"] = row.time->value();
    cost["algbw_Bps"] = row.algbw().value();
    cost["busbw_Bps"] = row.busbw().value();
    cost["source"] = row.source;
    if (!row.note.empty()) cost["source_text"] = row.note;
  }
  return json::text_of(all);
}

std::string collective_costs_csv(const std::vector<CollectiveCostRow>& rows) {
  auto text = csv::line_of({"operation", "bytes", "algorithm", "protocol", "channels", "time_s", "algbw_Bps",
                            "busbw_Bps", "source", "source_text"});
  for (const auto& row : rows) {
    if (!row.time) continue;
    text += csv::line_of({row.operation, csv::bytes(row.bytes), row.algorithm, row.protocol,
                          fmt::format("{}", row.channels), csv::seconds(*row.time),
                          csv::number(row.algbw().value()), csv::number(row.busbw().value()), row.source,
                          row.note});
  }
  return text;
}

}  // namespace ddpsim
