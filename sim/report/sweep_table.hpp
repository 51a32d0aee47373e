#pragma once
#include <iosfwd>
#include <string>
#include <vector>

#include "sim/report/sweep_result.hpp"
#include "sim/report/table_parts.hpp"

namespace ddpsim {

// Columns of what not every sweep has.
struct SweepColumns {
  bool range = false, spread = false, measured = false, memory = false;
};

// A sweep's points as they come. The axes' values are known beforehand, so every row has the same columns.
class SweepTable {
 public:
  SweepTable(std::ostream& out, const std::vector<AxisValues>& axes, SweepColumns optional);

  void header();
  void row(const SweepPoint& point);
  // The best point of each group, and of all.
  void footer(const SweepResult& result);

 private:
  void range_footer(const SweepResult& result);
  void memory_footer(const SweepResult& result);
  [[nodiscard]] std::vector<std::string> cells(const SweepPoint& point) const;

  std::ostream& out_;
  std::vector<std::string> axes_;
  SweepColumns optional_;
  std::vector<TableColumn> columns_;
};

}  // namespace ddpsim
