#pragma once
// --set key.path=value, and the sweep axes of a scenario.
#include <string>
#include <vector>

#include "sim/config/value.hpp"

namespace ddpsim::config {

// Puts `value` at the dotted key path, creating maps on the way. Throws InputError (at `place`) when a part
// of the path is not a map.
void set_at(Value& root, std::string_view path, Value value, const SourceSpan& place);

// Applies one "key.path=value" from the command line: replaces that key and removes its sweep axis. Errors
// point into the argument itself. A path that starts with "sweep." replaces that axis.
void apply_override(Value& root, const std::string& assignment);

// One axis of the sweep: a scenario key and the values it takes.
struct SweepAxis {
  std::string key;  // "ddp.bucket_cap"
  SourceSpan span;
  std::vector<Value> values;
};

// Removes the `sweep` section from the scenario and returns its axes: lists as they are, and
// {from, to, points, spacing: log|linear} expanded (sizes rounded to whole bytes, whole numbers to whole
// numbers, values that round to the same number once). Throws InputError for empty axes, nested values that
// are no scalars and more than 1,000,000 points in all.
std::vector<SweepAxis> take_sweep_axes(Value& root);

}  // namespace ddpsim::config
