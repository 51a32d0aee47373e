#include "sim/calibrate/calibration_file.hpp"

#include <algorithm>

#include <fmt/format.h>
#include <fmt/ranges.h>

#include "sim/base/double_quoted.hpp"

namespace ddpsim::calibrate {
namespace {

std::string in_bytes(Bytes bytes) {
  return fmt::format("{:.0f}B", bytes.value());
}

nccl::FittedRows fitted_rows(const FittedTable& fitted, const std::vector<Point>& rows) {
  const auto& measurement = *fitted.measurement;
  const auto& judgement = fitted.judgement;
  auto error = judgement.of(rows);
  auto is_distrusted = [&](const Point& row) {
    return std::any_of(judgement.points.begin(), judgement.points.end(), [&](const JudgedPoint& point) {
      return point.bytes == row.bytes && !point.doubt.empty();
    });
  };
  auto distrusted = std::count_if(rows.begin(), rows.end(), is_distrusted);
  return {measurement.table.title,
          measurement.communicator.ranks,
          measurement.communicator.nodes,
          static_cast<int>(rows.size()),
          rows.front().bytes,
          rows.back().bytes,
          error.mean,
          error.worst,
          static_cast<int>(distrusted)};
}

std::string text_of(const std::vector<nccl::FittedRows>& tables) {
  std::string text;
  for (const auto& table : tables)
    text += fmt::format(
        "      - table: {}\n        ranks: {}\n        nodes: {}\n        rows: {}\n        smallest: {}\n"
        "        largest: {}\n        mean_error_percent: {:.1f}\n        worst_error_percent: {:.1f}\n{}",
        double_quoted(table.table), table.ranks, table.nodes, table.rows, in_bytes(table.smallest),
        in_bytes(table.largest), 100 * table.mean_error, 100 * table.worst_error,
        table.distrusted > 0 ? fmt::format("        distrusted_rows: {}\n", table.distrusted) : "");
  return text.empty() ? "" : "    fitted_to:\n" + text;
}

template <class Lines, class Parameters>
std::string parameters_of(const Lines& lines, const Parameters& parameters) {
  std::string text = "    parameters:\n";
  for (const auto& parameter : parameters)
    text += fmt::format("      {}: {:.6g}\n", parameter.name, lines.*parameter.value);
  return text;
}

std::string identified_of(const nccl::Calibration::NodeEntry& entry) {
  if (entry.identified.empty()) return "";
  return fmt::format("    identified: [{}]\n", fmt::join(nccl::identified_names(entry), ", "));
}

}  // namespace

void note_fit(nccl::Calibration& fitted, const std::vector<FittedTable>& tables) {
  for (const auto& table : tables) {
    for (auto& entry : fitted.entries)
      if (auto rows = points_of_curve(*table.measurement, entry); !rows.empty())
        entry.fitted_to.push_back(fitted_rows(table, rows));
    for (auto& entry : fitted.node)
      if (auto rows = points_of_lines(*table.measurement, entry); !rows.empty())
        entry.fitted_to.push_back(fitted_rows(table, rows));
  }
}

std::string write_calibration(const nccl::Calibration& calibration) {
  std::string text =
      "# What NCCL's collectives take, fitted to measured tables by `ddpsim calibrate`. What it means: "
      "docs/model.md.\n";
  if (calibration.release) text += fmt::format("release: \"{}\"\n", nccl::name(*calibration.release));
  if (!calibration.network.empty()) text += fmt::format("network: {}\n", calibration.network);
  if (!calibration.entries.empty()) text += "curves:\n";
  for (const auto& entry : calibration.entries)
    text += fmt::format(
                "  - algorithm: {}\n    across_nodes: {}\n    latency_scale: {:.4g}\n    efficiency: {:.4g}\n"
                "    ramp: {:.4g}us\n",
                nccl::name(entry.algorithm), entry.across_nodes, entry.curve.latency_scale,
                entry.curve.efficiency, entry.curve.ramp.value() * 1e6) +
            (entry.nodes > 0 ? fmt::format("    nodes: {}\n", entry.nodes) : "") + text_of(entry.fitted_to);
  if (!calibration.node.empty()) text += "lines:\n";
  for (const auto& entry : calibration.node)
    text += fmt::format("  - operation: {}\n", operation_name(entry.operation)) +
            (sends_directly(entry.operation) ? parameters_of(entry.peers, nccl::kPeerParameters)
                                             : parameters_of(entry.ring, nccl::kRingParameters)) +
            identified_of(entry) + text_of(entry.fitted_to);
  return text;
}

}  // namespace ddpsim::calibrate
