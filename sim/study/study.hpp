#pragma once
// A sweep of any size whose points are run in any order, by several processes or machines: each finished
// point is a row (result/study_row), and one that fails is a row with its error.
#include <functional>
#include <span>
#include <string>

#include "sim/config/value.hpp"
#include "sim/result/study_row.hpp"
#include "sim/study/job_key.hpp"
#include "sim/study/sweep_points.hpp"

namespace ddpsim {

class Study {
 public:
  // `root` has its sweep section, paths are relative to the folder of `file`. Throws InputError for axes that
  // are none.
  Study(std::string file, config::Value root, bool all_columns = false);

  [[nodiscard]] std::size_t size() const { return grid_.size(); }
  [[nodiscard]] const SweepGrid& grid() const { return grid_; }
  // Its name is the same for equal scenarios with equal axes, and equal files.
  [[nodiscard]] const StudyHead& head() const { return head_; }
  // Of the job that a point is.
  [[nodiscard]] std::string key(std::size_t point);

  // Runs these points, ascending, and hands over their rows in that order, each as soon as it is known. Equal
  // plans are simulated once. What is kept between calls does not grow with their number.
  using OnRow = std::function<void(std::size_t point, const std::string& row)>;
  void run(std::span<const std::size_t> points, unsigned jobs, const OnRow& on_row) const;

 private:
  [[nodiscard]] std::string key(std::size_t point, PointJobs& jobs, JobKeys& keys) const;

  std::string file_;
  config::Value root_;
  SweepGrid grid_;
  JobKeys keys_;
  StudyHead head_;
};

}  // namespace ddpsim
