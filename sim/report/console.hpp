#pragma once
// Results for people: aligned text, times in milliseconds, no colour.
#include <iosfwd>
#include <string>
#include <vector>

#include "sim/report/metrics.hpp"
#include "sim/report/sweep_result.hpp"

namespace ddpsim {

// What adds up to the iteration, how much communication is hidden, and the buckets; of more than
// `most_buckets` of them only the first and the last.
void print_iteration(std::ostream& out, const IterationMetrics& metrics, std::size_t most_buckets = 64);

// A sweep's points as they come. The axes' values are known beforehand, so every row has the same columns.
class SweepTable {
 public:
  SweepTable(std::ostream& out, const std::vector<AxisValues>& axes, bool with_measured);

  void header();
  void row(const SweepPoint& point);
  // The best point of each group, and of all.
  void footer(const SweepResult& result);

 private:
  struct Column {
    std::string title;
    std::size_t width;
  };
  void print(const std::vector<std::string>& cells);
  [[nodiscard]] std::vector<std::string> cells(const SweepPoint& point) const;

  std::ostream& out_;
  std::vector<std::string> axes_;
  bool with_measured_;
  std::vector<Column> columns_;
};

}  // namespace ddpsim
