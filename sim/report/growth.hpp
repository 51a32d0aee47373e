#pragma once
// What a job loses as it grows (`ddpsim scale`).
#include <iosfwd>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "sim/base/note.hpp"
#include "sim/base/terminal.hpp"
#include "sim/report/result_json.hpp"
#include "sim/report/table_parts.hpp"
#include "sim/result/metrics.hpp"

namespace ddpsim {

enum class Scaling { weak, strong };  // the same work for each GPU; the same work for all

struct GrowthPoint {
  IterationMetrics metrics;
  double share = 1;  // of a GPU's work at the first point
};

struct Growth {
  Scaling scaling = Scaling::weak;
  std::vector<GrowthPoint> points;  // by GPUs
  std::vector<Note> notes = {};

  // Work a GPU does in a time, over that at the first point; and where times are not known to a number, with
  // both at the same end of what they may be.
  [[nodiscard]] double efficiency(std::size_t point) const;
  [[nodiscard]] std::optional<std::pair<double, double>> efficiency_range(std::size_t point) const;
};

void print_growth(std::ostream& out, const Terminal& terminal, const Growth& growth,
                  TableStyle style = TableStyle::text);
std::string growth_json(const Growth& growth, const ScenarioInfo& scenario, const ToolInfo& tool);
std::string growth_csv(const Growth& growth);

}  // namespace ddpsim
