#pragma once
#include <iosfwd>
#include <string>
#include <vector>

#include "sim/report/table_parts.hpp"
#include "sim/result/sweep_result.hpp"

namespace ddpsim {

// Columns of what not every sweep has.
struct SweepColumns {
  bool range = false, spread = false, measured = false, memory = false, error = false, odds = false;
};
SweepColumns columns_of(const SweepResult& result);

// The table's head, and a point's row.
std::vector<TableColumn> sweep_columns(const std::vector<AxisValues>& axes, SweepColumns optional);
std::vector<std::string> sweep_cells(const std::vector<std::string>& axes, SweepColumns optional,
                                     const SweepPoint& point);
inline constexpr const char* kErrorTitle = "why not";
// The row of a point without results, given the table's columns: its error is in the last.
std::vector<std::string> failed_cells(std::size_t columns, const FailedPoint& point);

// "iterations are the median of 200 (seed 1), ..."; empty where they do not differ.
std::string reported_iterations(const SweepResult& result);

// A sweep's points as they come. The axes' values are known beforehand, so every row has the same columns.
class SweepTable {
 public:
  SweepTable(std::ostream& out, const std::vector<AxisValues>& axes, SweepColumns optional,
             TableStyle style = TableStyle::text);

  void header();
  void row(const SweepPoint& point);
  void row(const FailedPoint& point);
  // The best point of each group, and of all.
  void footer(const SweepResult& result);

 private:
  std::ostream& out_;
  TableStyle style_;
  std::vector<std::string> axes_;
  SweepColumns optional_;
  std::vector<TableColumn> columns_;
};

}  // namespace ddpsim
