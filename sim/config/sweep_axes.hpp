#pragma once
#include <string>
#include <vector>

#include "sim/base/limits.hpp"
#include "sim/config/value.hpp"

namespace ddpsim::config {

// One axis of the sweep: a scenario key and the values it takes.
struct SweepAxis {
  std::string key;  // "ddp.bucket_cap"
  SourceSpan span;
  std::vector<Value> values;
};

// Removes the `sweep` section from the scenario and returns its axes: lists as they are, and
// {from, to, points, spacing: log|linear} expanded (sizes rounded to whole bytes, whole numbers to whole
// numbers, values that round to the same number once). A value may be a list or a map itself. Throws
// InputError for empty axes, values that are nothing or appear twice, and more than `most` points in all.
std::vector<SweepAxis> take_sweep_axes(Value& root, std::size_t most = kMostSweepPoints);

}  // namespace ddpsim::config
