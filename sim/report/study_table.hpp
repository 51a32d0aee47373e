#pragma once
// The best points of a study's rows (`ddpsim results best`), and all of them as CSV (`results csv`).
#include <cstddef>
#include <iosfwd>
#include <map>
#include <string>
#include <vector>

#include "sim/base/terminal.hpp"
#include "sim/result/study_row.hpp"

namespace ddpsim {

// The shortest steps of each job: of the points with the same values on axes that are no choice. Those that
// do not fit into a GPU's memory come last.
class BestRows {
 public:
  BestRows(StudyHead study, std::size_t most) : study_(std::move(study)), most_(most) {}

  void add(const StudyRow& row);
  void print(std::ostream& out, const Terminal& terminal) const;

 private:
  [[nodiscard]] std::vector<std::string> job_of(const StudyRow& row) const;

  StudyHead study_;
  std::size_t most_, rows_ = 0, failed_ = 0;
  std::map<std::vector<std::string>, std::size_t> places_;  // of jobs
  std::vector<std::vector<StudyRow>> jobs_;                 // as they come, each in order, at most `most_`
};

// A record for each row, with a column for each figure that some row has; `columns` are those, in order.
std::string study_csv_header(const StudyHead& study, const std::vector<std::string>& columns);
std::string study_csv_record(const StudyRow& row, const std::vector<std::string>& columns);

}  // namespace ddpsim
