#include "sim/calibrate/calibration_file.hpp"

#include <algorithm>

#include <fmt/core.h>

#include "sim/base/double_quoted.hpp"

namespace ddpsim::calibrate {
namespace {

std::string in_bytes(Bytes bytes) {
  return fmt::format("{:.0f}B", bytes.value());
}

std::string fitted_table(const FittedTable& fitted) {
  const auto& [measurement, judgement] = fitted;
  auto distrusted = std::count_if(judgement.points.begin(), judgement.points.end(),
                                  [](const JudgedPoint& point) { return !point.doubt.empty(); });
  return fmt::format(
      "      - table: {}\n        ranks: {}\n        nodes: {}\n        rows: {}\n        smallest: {}\n"
      "        largest: {}\n        mean_error_percent: {:.1f}\n        worst_error_percent: {:.1f}\n{}",
      double_quoted(measurement->table.title), measurement->ranks, measurement->nodes,
      judgement.points.size(), in_bytes(judgement.points.front().bytes),
      in_bytes(judgement.points.back().bytes), 100 * judgement.mean, 100 * judgement.worst,
      distrusted > 0 ? fmt::format("        distrusted_rows: {}\n", distrusted) : "");
}

}  // namespace

std::string write_calibration(const nccl::Calibration& calibration, const std::vector<FittedTable>& tables) {
  std::string text =
      "# Curves of NCCL's all-reduce, fitted to measured tables by `ddpsim calibrate`. What they mean: "
      "docs/model.md.\n"
      "curves:\n";
  for (const auto& entry : calibration.entries) {
    text += fmt::format(
        "  - algorithm: {}\n    across_nodes: {}\n    latency_scale: {:.4g}\n    efficiency: {:.4g}\n"
        "    ramp: {:.4g}us\n",
        nccl::name(entry.algorithm), entry.across_nodes, entry.curve.latency_scale, entry.curve.efficiency,
        entry.curve.ramp.value() * 1e6);
    std::string fitted;
    for (const auto& table : tables)
      if (table.measurement->shape.large_algorithm() == entry.algorithm &&
          table.measurement->across_nodes() == entry.across_nodes)
        fitted += fitted_table(table);
    if (!fitted.empty()) text += "    fitted_to:\n" + fitted;
  }
  return text;
}

}  // namespace ddpsim::calibrate
