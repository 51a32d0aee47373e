#include "sim/resolve/unused_axes.hpp"

#include "sim/config/overrides.hpp"
#include "sim/job/rows/table.hpp"

namespace ddpsim {
std::vector<config::SweepAxis> take_unused_axes(config::Value& root) {
  auto axes = config::take_sweep_axes(root);
  for (const auto& axis : axes) {
    config::Value alone;
    alone.kind = config::Value::Kind::map;
    config::set_at(alone, axis.key, axis.values.front(), axis.span);
    check_misplaced_keys(alone);
    check_axis(axis.key, axis.span);
  }
  return axes;
}

}  // namespace ddpsim
