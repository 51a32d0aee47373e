#pragma once
// The scenarios of a sweep, validated before anything runs.
#include <string>
#include <vector>

#include "sim/config/overrides.hpp"
#include "sim/config/sweep_axes.hpp"
#include "sim/report/sweep_result.hpp"
#include "sim/study/scenario_variant.hpp"
#include "sim/text/scenario_reader.hpp"

namespace ddpsim {

struct SweepPlan {
  std::vector<AxisValues> axes;
  std::vector<std::vector<std::string>> axis_values;  // one a point, one value an axis
  std::vector<Scenario> scenarios;                    // mostly one a group, of which points are variants
  std::vector<ScenarioVariant> points;
  std::vector<std::size_t> same_as;  // by point, the first one with the same buckets in all: mostly itself
};

// The cartesian product of all axes, the first varying slowest; the bucket cap always varies fastest, so
// that each group's rows stand together.
SweepPlan plan_grid(const config::Value& root, std::vector<config::SweepAxis> axes, ScenarioReader& reader);

// The same with a scenario of its own for every point.
SweepPlan expanded(SweepPlan plan);

// A grid with ddp.bucket_cap replaced by the smallest cap of every distinct bucket assignment, group by
// group. Throws InputError for more points than a sweep may have.
SweepPlan plan_exact_optimum(const config::Value& root, std::vector<config::SweepAxis> axes,
                             ScenarioReader& reader);

}  // namespace ddpsim
