#include "sim/calibrate/calibration_file.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "sim/base/double_quoted.hpp"

namespace ddpsim::calibrate {
namespace {

std::string in_bytes(Bytes bytes) {
  return fmt::format("{:.0f}B", bytes.value());
}

// Of the rows that one entry was fitted to.
std::string fitted_table(const FittedTable& fitted, const std::vector<Point>& rows) {
  const auto* measurement = fitted.measurement;
  const auto& judgement = fitted.judgement;
  auto error = judgement.of(rows);
  auto is_distrusted = [&](const Point& row) {
    return std::any_of(judgement.points.begin(), judgement.points.end(), [&](const JudgedPoint& point) {
      return point.bytes == row.bytes && !point.doubt.empty();
    });
  };
  auto distrusted = std::count_if(rows.begin(), rows.end(), is_distrusted);
  return fmt::format(
      "      - table: {}\n        ranks: {}\n        nodes: {}\n        rows: {}\n        smallest: {}\n"
      "        largest: {}\n        mean_error_percent: {:.1f}\n        worst_error_percent: {:.1f}\n{}",
      double_quoted(measurement->table.title), measurement->communicator.ranks,
      measurement->communicator.nodes, rows.size(), in_bytes(rows.front().bytes), in_bytes(rows.back().bytes),
      100 * error.mean, 100 * error.worst,
      distrusted > 0 ? fmt::format("        distrusted_rows: {}\n", distrusted) : "");
}

template <class PointsOf>
std::string fitted_to(const std::vector<FittedTable>& tables, const PointsOf& points_of) {
  std::string text;
  for (const auto& table : tables)
    if (auto rows = points_of(*table.measurement); !rows.empty()) text += fitted_table(table, rows);
  return text.empty() ? "" : "    fitted_to:\n" + text;
}

template <class Lines, class Parameters>
std::string parameters_of(const Lines& lines, const Parameters& parameters) {
  std::string text = "    parameters:\n";
  for (const auto& parameter : parameters)
    text += fmt::format("      {}: {:.6g}\n", parameter.name, lines.*parameter.value);
  return text;
}

}  // namespace

std::string write_calibration(const nccl::Calibration& calibration, const std::vector<FittedTable>& tables) {
  std::string text =
      "# What NCCL's collectives take, fitted to measured tables by `ddpsim calibrate`. What it means: "
      "docs/model.md.\n";
  if (!calibration.entries.empty()) text += "curves:\n";
  for (const auto& entry : calibration.entries)
    text += fmt::format(
                "  - algorithm: {}\n    across_nodes: {}\n    latency_scale: {:.4g}\n    efficiency: {:.4g}\n"
                "    ramp: {:.4g}us\n",
                nccl::name(entry.algorithm), entry.across_nodes, entry.curve.latency_scale,
                entry.curve.efficiency, entry.curve.ramp.value() * 1e6) +
            (entry.nodes > 0 ? fmt::format("    nodes: {}\n", entry.nodes) : "") +
            fitted_to(tables, [&](const Measurement& m) { return points_of_curve(m, entry); });
  if (!calibration.node.empty()) text += "lines:\n";
  for (const auto& entry : calibration.node)
    text += fmt::format("  - operation: {}\n", operation_name(entry.operation)) +
            (entry.operation == Operation::all_to_all ? parameters_of(entry.peers, nccl::kPeerParameters)
                                                      : parameters_of(entry.ring, nccl::kRingParameters)) +
            fitted_to(tables, [&](const Measurement& m) { return points_of_lines(m, entry); });
  return text;
}

}  // namespace ddpsim::calibrate
