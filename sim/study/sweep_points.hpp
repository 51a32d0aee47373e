#pragma once
// The scenarios of a sweep, validated before anything runs.
#include <cstddef>
#include <functional>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "sim/config/overrides.hpp"
#include "sim/config/sweep_axes.hpp"
#include "sim/resolve/resolve.hpp"
#include "sim/result/sweep_result.hpp"
#include "sim/study/scenario_variant.hpp"

namespace ddpsim {

// The cartesian product of axes, the first varying slowest; the bucket cap always varies fastest, so that
// each group's points stand together.
class SweepGrid {
 public:
  // Throws InputError for an axis that cannot be swept.
  explicit SweepGrid(std::vector<config::SweepAxis> axes);

  [[nodiscard]] std::size_t size() const;
  [[nodiscard]] const std::vector<config::SweepAxis>& axes() const { return axes_; }
  [[nodiscard]] std::vector<std::string> values(std::size_t point) const;  // as written, one an axis
  // Puts a point's values into the scenario, or into these keys and sections of it only. Throws InputError
  // where an axis' key cannot be there.
  void set(config::Value& root, std::size_t point, const std::set<std::string_view>* keys = nullptr) const;
  // The keys and sections of the scenario in which two points differ.
  [[nodiscard]] std::set<std::string_view> differing(std::size_t point, std::size_t other) const;

 private:
  [[nodiscard]] std::vector<std::size_t> indices(std::size_t point) const;  // into the axes' values

  std::vector<config::SweepAxis> axes_;
};

// The jobs of a grid's points: of each is read what differs from the one before.
class PointJobs {
 public:
  PointJobs(config::Value root, const SweepGrid& grid) : grid_(grid), root_(std::move(root)) {}
  // Until the next one. Throws InputError where the point is no job.
  const GivenJob& at(std::size_t point);

 private:
  const SweepGrid& grid_;
  config::Value root_;
  std::optional<GivenJob> job_;  // of the last point; none: it is no job
  std::size_t point_ = 0;
};

struct SweepPlan {
  std::vector<AxisValues> axes;
  std::vector<std::vector<std::string>> axis_values;  // one a point, one value an axis
  std::vector<Scenario> scenarios;                    // mostly one a group, of which points are variants
  std::vector<ScenarioVariant> points;
  std::vector<std::size_t> same_as;  // by point, the first one with the same buckets in all: mostly itself
  std::vector<std::size_t> numbers = {};  // of the points in the grid
  std::vector<FailedPoint> refused = {};  // combinations that no scenario can be; not among `points`
};

// Some points of a grid, by number, ascending; `on_refused` in place of one that is no valid scenario.
// `jobs`: for what counts in each scenario's job, as a text.
using OnRefused = std::function<void(std::size_t number, const InputError& why)>;
SweepPlan plan_points(const config::Value& root, const SweepGrid& grid, std::span<const std::size_t> numbers,
                      Files& files, const OnRefused& on_refused, std::vector<std::string>* jobs = nullptr);

// All points of the grid, but of those that are the same job, in other words or but for what does not count
// in it, the first only. Throws InputError where one is no valid scenario.
SweepPlan plan_grid(const config::Value& root, std::vector<config::SweepAxis> axes, Files& files);

// The same with those that are no valid scenario set aside as refused. Throws the first one's InputError
// where none is valid.
SweepPlan plan_possible(const config::Value& root, std::vector<config::SweepAxis> axes, Files& files);

// The same with a scenario of its own for every point.
SweepPlan expanded(SweepPlan plan);

// A grid with ddp.bucket_cap replaced by the smallest cap of every distinct bucket assignment, group by
// group. Throws InputError for more points than a sweep may have.
SweepPlan plan_exact_optimum(const config::Value& root, std::vector<config::SweepAxis> axes, Files& files);

}  // namespace ddpsim
